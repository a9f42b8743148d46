"""The results that a question is about, as a selection of a database or a side of a comparison."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

from analysis.results.metrics import METRICS, RATES_OF_SHARES, Metric
from analysis.results.row import seeks_peak_sql
from analysis.results.series import SERIES
from analysis.results.source import OWN_SOURCES, ArrowSource, text
from runner.contract.cell import Backend

_AT_ONCE = 5_000
"""Cells that are asked for in one question."""
IS_OURS = f"(r.source IN ({', '.join(map(text, OWN_SOURCES))}))"
_MEASURED = "(NOT r.simulated OR r.source = 'synthetic')"
OF_A_DEVICE = "(software_device IS DISTINCT FROM true)"
"""False for results of software in a device's place, whose times say nothing of the backend."""
_QUOTABLE = f"(r.proof = 'proven' AND r.correct IS DISTINCT FROM false AND {OF_A_DEVICE})"
"""Imported results never are, and are marked as what they are."""


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

    @property
    def relation(self) -> str:
        """The results as a relation of SQL, to stand behind FROM.

        It has the columns of `benchmark_performance`, and `quotable`. No result of a simulator or
        of the fake backend is among them.
        """
        every = self.every or self.run_id is not None
        view = "benchmark_performance" if every else "latest_results"
        views = [(f"{view}_all" if self.unquotable else view, IS_OURS)]
        if self.imported:
            views.append(("imported_results", f"NOT {IS_OURS}"))
        selects = (
            f"SELECT r.*, {_QUOTABLE} AS quotable FROM {view} r"
            f" WHERE {origin} AND r.status = 'ok' AND {_MEASURED} AND {self._chosen}"
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
    def _chosen(self) -> str:
        of_run = "" if self.run_id is None else f" AND r.run_id = {text(self.run_id)}"
        return f"({self.condition}){of_run}"

    def without(self, ids: Iterable[str]) -> Self:
        """The same without the results of these ids."""
        named = ", ".join(map(text, sorted(ids)))
        if not named:
            return self
        return replace(self, condition=f"({self.condition}) AND r.result_id NOT IN ({named})")


def selected_cells(source: ArrowSource, selection: Selection) -> tuple[str, ...]:
    """The ids of the cells of which results are selected."""
    table = source.arrow(f"SELECT DISTINCT cell_id FROM {selection.relation} ORDER BY cell_id")
    return tuple(table["cell_id"].to_pylist())


_OFFLINE, _PEAK = "r.scenario = 'offline'", seeks_peak_sql()
_USUAL = (
    replace(METRICS["latency"], condition=f"({_OFFLINE} OR {_PEAK}) IS NOT TRUE"),
    replace(METRICS["throughput"], condition=_OFFLINE),
    replace(METRICS["peak_qps"], condition=_PEAK),
)


def usual_metrics(source: ArrowSource, selection: Selection) -> tuple[Metric, ...]:
    """The metrics by which the speeds of these results are judged, each of its own scenarios.

    They are throughput for offline, the peak where one was sought, else the median latency.
    """
    counts = ", ".join(f"bool_or({metric.condition}) AS {metric.name}" for metric in _USUAL)
    (measured,) = source.arrow(f"SELECT {counts} FROM {selection.verdicts} r").to_pylist()
    return tuple(metric for metric in _USUAL if measured[metric.name]) or _USUAL[:1]


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

    @property
    def result_ids(self) -> frozenset[str]:
        table = self.source.arrow(f"SELECT r.result_id FROM {self.selection.relation} r")
        return frozenset(table["result_id"].to_pylist())


def metric_of_sides(metric: Metric, before: Side, after: Side) -> Metric:
    """The metric by which the results of both sides compare.

    Shares of a peak are of the highest that a database knows, so that those of two databases are of
    different peaks: there it is the rate behind the share.
    """
    return metric if before.source is after.source else RATES_OF_SHARES.get(metric.column, metric)


def hostnames(source: ArrowSource) -> list[str]:
    """The names of the hosts whose verdicts a database holds."""
    sql = "SELECT DISTINCT hostname FROM benchmark_results WHERE hostname IS NOT NULL ORDER BY 1"
    names: list[str] = source.arrow(sql)["hostname"].to_pylist()
    return names


def side_of_host(
    source: ArrowSource, selection: Selection, hostname: str, without: Iterable[str] = ()
) -> Side:
    """The newest result of each series that a host measured, whoever shares the series.

    Args:
        source: the database.
        selection: the results that count, of all hosts.
        hostname: the name of the host.
        without: ids of results that do not count.
    """
    of_host = f"({selection.condition}) AND r.hostname = {text(hostname)}"
    every = replace(selection, condition=of_host, run_id=None, every=True).without(without)
    series = ", ".join(f"n.{name}" for name in SERIES)
    newest = f"""
        SELECT arg_max(n.result_id, (coalesce(n.measured_at, TIMESTAMPTZ '-infinity'), n.run_id))
        FROM {every.relation} n GROUP BY {series}
    """
    chosen = f"{every.condition} AND (r.status <> 'ok' OR r.result_id IN ({newest}))"
    return Side(hostname, source, replace(every, condition=chosen), chosen_from=every)


def runs_before(
    source: ArrowSource, selection: Selection, side: Side, *, per_host: bool
) -> list[str]:
    """The ids of the runs before a side that share a series with it, the newest first.

    A run counts by its newest result that the side shares a series with, if it was measured before
    the newest result of the side.

    Args:
        source: the database whose runs are looked at.
        selection: the results in it that count.
        side: the side whose series are looked for, in any database.
        per_host: True if machines with different names have series of their own.
    """
    columns = (*SERIES, "hostname") if per_host else SERIES
    series = f"hash({', '.join(f'r.{name}' for name in columns)})"
    (wanted,) = side.source.arrow(f"""
        SELECT list(DISTINCT {series})::VARCHAR[] AS series, list(DISTINCT r.run_id) AS runs,
            max(r.measured_at)::VARCHAR AS newest
        FROM {side.selection.relation} r
    """).to_pylist()
    if not wanted["series"] or wanted["newest"] is None:
        return []
    every = replace(selection, run_id=None, every=True)
    table = source.arrow(f"""
        SELECT r.run_id FROM {every.relation} r
        WHERE {series} IN ({", ".join(wanted["series"])})
            AND r.run_id NOT IN ({", ".join(map(text, wanted["runs"]))})
            AND r.measured_at < {text(wanted["newest"])}::TIMESTAMPTZ
        GROUP BY r.run_id ORDER BY max(r.measured_at) DESC, r.run_id DESC
    """)
    ids: list[str] = table["run_id"].to_pylist()
    return ids


_TIMED = f"{IS_OURS} AND r.status = 'ok' AND r.latency_median_s IS NOT NULL"


@dataclass(frozen=True)
class VersionRecord:
    """The newest measurement of a cell, as far as it tells the version that was measured."""

    run_id: str
    cell_id: str
    backend: Backend
    weights_seed: int | None
    model_id: str | None
    image: str | None
    image_digest: str | None
    job: str | None
    """The job, as JSON."""


def newest_run_of(source: ArrowSource, cells: Sequence[str]) -> str | None:
    """The id of the newest run that measured one of these cells; None without one."""
    table = source.arrow(f"""
        SELECT r.run_id FROM benchmark_results r JOIN benchmark_runs u USING (run_id)
        WHERE {_TIMED} AND r.cell_id IN ({", ".join(map(text, cells[:_AT_ONCE]))})
        ORDER BY u.started_at DESC, r.run_id DESC LIMIT 1
    """)
    run_ids: list[str] = table["run_id"].to_pylist()
    return run_ids[0] if run_ids else None


def version_records(
    source: ArrowSource, run_id: str | None, cells: Sequence[str]
) -> Iterator[VersionRecord]:
    """The newest measurement of each of these cells that a run has; of any run if none is named."""
    of_run = f"r.run_id = {text(run_id)}" if run_id else "true"
    for start in range(0, len(cells), _AT_ONCE):
        names = ", ".join(map(text, cells[start : start + _AT_ONCE]))
        table = source.arrow(f"""
            SELECT r.run_id, r.cell_id, r.backend, r.weights_seed, r.model_id,
                e.image, e.image_digest, j.job
            FROM benchmark_results r
            LEFT JOIN environments e USING (environment_id)
            LEFT JOIN replay_jobs j ON j.result_id = r.result_id
            WHERE {_TIMED} AND {of_run} AND r.cell_id IN ({names})
            QUALIFY row_number() OVER (
                PARTITION BY r.cell_id ORDER BY r.recorded_at DESC, r.result_id DESC) = 1
        """)
        yield from (VersionRecord(**row) for row in table.to_pylist())
