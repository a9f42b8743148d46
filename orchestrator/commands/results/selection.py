"""Results that a question is about: the run, filters and sources that options name."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from analysis.results.selection import Selection
from analysis.statistics.outcomes import THRESHOLD
from orchestrator.store.query.filters import Filters
from orchestrator.store.query.runs import resolve_run
from orchestrator.store.store import Store


@dataclass(frozen=True)
class SelectionRequest:
    """A set of results in a database, by default the newest of each series."""

    database: Path
    filters: Filters = field(default_factory=Filters)
    run: str | None = None
    """The run whose results they are, or `last`; None for the newest of all runs."""
    imported: bool = False
    unquotable: bool = False
    every: bool = False
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
        return Selection(
            condition=store.condition(trusted=trusted, as_options=True, **self.filters),
            run_id=self.run and resolve_run(self.run, store.runs(), self.database),
            every=self.every,
            imported=self.imported,
            unquotable=self.unquotable,
            threshold=self.threshold,
        )
