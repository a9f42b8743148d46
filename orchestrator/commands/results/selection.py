"""Results that a question is about: the run, filters and sources that options name."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from analysis.results.selection import Selection
from orchestrator.store.query.filters import Filters
from orchestrator.store.query.runs import resolve_run
from orchestrator.store.store import Store


@dataclass(frozen=True)
class SelectionRequest:
    """A set of results in a database, by default the newest of each series."""

    database: Path
    filters: Filters = field(default_factory=Filters)
    """Conditions, all of which must hold."""
    run: str | None = None
    """The run whose results they are, or `last`; None for the newest of all runs."""
    imported: bool = False
    """True if results that others measured are among them."""
    unquotable: bool = False
    """True if results without proof or with wrong outputs are among them."""
    every: bool = False
    """True if older results of a series count too."""
    results: Path | None = None
    """The folder of runs and snapshots; None for that of the database."""

    @property
    def results_folder(self) -> Path:
        """The folder of runs and snapshots."""
        return self.results or self.database.parent

    @property
    def chooses(self) -> bool:
        """True if it is not what a question is about unless somebody chooses."""
        return bool(self.filters or self.run or self.imported or self.unquotable or self.every)

    @contextmanager
    def open(self) -> Iterator[tuple[Store, Selection]]:
        """The database, open for reading, and the selection in it."""
        with Store.open_readonly(self.database) as store:
            yield store, self.selection_in(store)

    def narrowed(self, glob: str | None) -> Self:
        """The same set, of cells alone whose id one more glob selects; None for the set itself."""
        if glob is None:
            return self
        chosen = (*self.filters.get("select", ()), glob)
        return replace(self, filters={**self.filters, "select": chosen})

    def selection_in(self, store: Store) -> Selection:
        """The selection in this store, which is that of the database."""
        trusted = not (self.imported or self.unquotable)
        condition = store.condition(trusted=trusted, as_options=True, **self.filters)
        run_id = self.run and resolve_run(self.run, store.runs(), self.database)
        return Selection(
            condition=condition,
            run_id=run_id,
            every=self.every,
            imported=self.imported,
            unquotable=self.unquotable,
        )
