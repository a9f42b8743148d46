"""The results that a question is about: which view they come from, and a condition on them."""

from dataclasses import dataclass, replace
from typing import Self

from analysis.results.source import OWN_SOURCES, ArrowSource, text


@dataclass(frozen=True)
class Selection:
    """A set of results, by default the newest of each series that may be quoted."""

    condition: str = "true"
    """A condition in SQL on the columns of `benchmark_performance`."""
    run_id: str | None = None
    """The run whose results they are; None for the newest of all runs."""
    every: bool = False
    """True if older results of a series count too; those of a run do anyway."""
    imported: bool = False
    """True if results that others measured are among them."""
    unquotable: bool = False
    """True if results without proof, with wrong outputs, or of software in a device's place are
    among them."""

    def with_unquotable(self) -> Self:
        """The same, with those among them that must not be quoted."""
        return replace(self, unquotable=True)

    @property
    def relation(self) -> str:
        """The results as a relation of SQL, to stand behind FROM.

        It has the columns of `benchmark_performance`, and `quotable`. No result of a simulator or
        of the fake backend is among them.
        """
        views = [(self._own_view, IS_OURS)]
        if self.imported:
            views.append(("imported_results", f"NOT {IS_OURS}"))
        selects = (
            f"SELECT r.*, {_QUOTABLE} AS quotable FROM {view} r"
            f" WHERE {origin} AND {self._conditions}"
            for view, origin in views
        )
        return f"({' UNION ALL BY NAME '.join(selects)})"

    @property
    def verdicts(self) -> str:
        """The newest verdicts, whatever they were, or those of the run, as a relation of SQL.

        It has the columns of `benchmark_performance_all`. What others measured is among them if
        it may be; what a simulator timed never is.
        """
        view = "latest_results_all" if self.run_id is None else "benchmark_performance_all"
        origin = "true" if self.imported else IS_OURS
        return f"(SELECT r.* FROM {view} r WHERE {_MEASURED} AND {origin} AND {self._chosen})"

    @property
    def _own_view(self) -> str:
        one_of_each = self.run_id is None and not self.every
        suffix = "_all" if self.unquotable else ""
        return f"{'latest_results' if one_of_each else 'benchmark_performance'}{suffix}"

    @property
    def _conditions(self) -> str:
        return f"r.status = 'ok' AND {_MEASURED} AND {self._chosen}"

    @property
    def _chosen(self) -> str:
        of_run = "" if self.run_id is None else f" AND r.run_id = {text(self.run_id)}"
        return f"({self.condition}){of_run}"


IS_OURS = f"(r.source IN ({', '.join(map(text, OWN_SOURCES))}))"
_MEASURED = "(NOT r.simulated OR r.source = 'synthetic')"
OF_A_DEVICE = "(software_device IS DISTINCT FROM true)"
"""False for results of software in a device's place, whose times say nothing of the backend."""
_QUOTABLE = f"(r.proof = 'proven' AND r.correct IS DISTINCT FROM false AND {OF_A_DEVICE})"
"""Imported results never are, and are marked as what they are."""


@dataclass(frozen=True)
class Side:
    """One side of a comparison: results of a database."""

    label: str
    """Its name on a screen: a run's id, a file, a host."""
    source: ArrowSource
    selection: Selection
    """At most one result of each series."""
    lacks: str | None = None
    """The sentence that says what its source does not tell, and names a richer one; None for
    records."""
    chosen_from: Selection | None = None
    """The results among which the selection takes the newest of each series, where the run or the
    view does not tell them; None where they do."""

    @property
    def history(self) -> Selection:
        """The same results and older ones of their series."""
        return self.chosen_from or replace(self.selection, run_id=None, every=True)


def selected_cells(source: ArrowSource, selection: Selection) -> tuple[str, ...]:
    """The ids of the cells of which results are selected."""
    table = source.arrow(f"SELECT DISTINCT cell_id FROM {selection.relation} ORDER BY cell_id")
    return tuple(table["cell_id"].to_pylist())
