"""Results that a question is about: the run, filters and sources that options name."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from analysis.results.selection import MOST_RESULTS, Selection, timed_runs
from analysis.statistics.ratios import THRESHOLD
from orchestrator.screen.lines import print_note
from orchestrator.store.query.filters import Filters
from orchestrator.store.query.runs import newest_first, resolve_run, steps_back
from orchestrator.store.store import Store


@dataclass(frozen=True)
class SelectionRequest:
    """A set of results in a database, by default the newest of each series."""

    database: Path
    filters: Filters = field(default_factory=Filters)
    run: str | None = None
    """The run whose results they are, or `last~1`; None for the newest results of all runs."""
    imported: bool = False
    unquotable: bool = False
    every: bool = False
    most: int = MOST_RESULTS
    """The most results that a report shows."""
    of_verdicts: bool = False
    """True if verdicts answer the question too, as a run of `verify` has them."""
    threshold: float = THRESHOLD
    """The least relative change that matters where they are compared."""
    results: Path | None = None
    """The folder of runs and snapshots; None for that of the database."""

    @property
    def results_folder(self) -> Path:
        return self.results or self.database.parent

    @property
    def chooses(self) -> bool:
        """True if it is not what a question is about unless somebody chooses."""
        return bool(self.filters or self.run or self.imported or self.unquotable or self.every)

    @contextmanager
    def open(self) -> Iterator[tuple[Store, Selection]]:
        with Store.open_readonly(self.database) as store:
            yield store, self.selection_in(store)

    def narrowed(self, glob: str | None) -> Self:
        """The same set, of cells alone whose id one more glob selects; None for the set itself."""
        if glob is None:
            return self
        chosen = (*self.filters.get("select", ()), glob)
        return replace(self, filters={**self.filters, "select": chosen})

    def selection_in(self, store: Store) -> Selection:
        trusted = not (self.imported or self.unquotable)
        selection = Selection(
            condition=store.condition(trusted=trusted, as_options=True, **self.filters),
            every=self.every,
            imported=self.imported,
            unquotable=self.unquotable,
            threshold=self.threshold,
        )
        if not self.run:
            return selection
        if not self.of_verdicts:
            return replace(selection, run_id=self.run_of_times(self.run, store, selection))
        runs = store.runs()
        able = {run.run_id for run in runs if run.counts}
        return replace(selection, run_id=resolve_run(self.run, runs, self.database, able))

    def run_of_times(self, name: str, store: Store, selection: Selection) -> str:
        """The id of the run that a name means where times are asked for: `last` has some."""
        runs = store.runs()
        is_last = steps_back(name) is not None
        able = timed_runs(store, selection) if is_last else None
        run_id = resolve_run(name, runs, self.database, able)
        if able and (newest := newest_first(runs)[0]) not in able:
            print_note(f"{name} is {run_id}: the newer {newest} has no time that answers this")
        return run_id
