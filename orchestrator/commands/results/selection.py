"""Results that a question is about: the run, filters and sources that options name."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Self

import typer

from analysis.results.selection import Selection
from orchestrator.commands.options.axes import AxisOptions, with_axes
from orchestrator.commands.options.common import DatabaseChoice, Select
from orchestrator.commands.program.completion import complete_family, complete_run
from orchestrator.store.query.filters import Filters
from orchestrator.store.query.runs import resolve_run
from orchestrator.store.store import Store
from orchestrator.system.options import parser_of
from orchestrator.system.text import parse_duration, split_list
from runner.contract.axes import AXES

_EVERY_SOURCE = "all"
_NO_FILTER = ("target_qps", "slo_ms")
"""Axes whose values no option chooses by; `--select` does."""
_AXES = tuple(axis for axis in AXES if axis.name not in _NO_FILTER)
_NUMBERS = frozenset(axis.name for axis in _AXES if axis.kind in ("size", "count"))
_WORDS = ("family", "task", "hardware", "host", "hostname", "launcher", "grade", "since", "until")


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
        )


def _plural(name: str) -> str:
    name = name.replace("_", " ")
    return f"numbers of {name}" if name.endswith("s") else f"{name}s"


def _names(text: str, **settings: Any) -> Any:
    return typer.Option(metavar="NAMES", help=text, callback=_split, **settings)


def _split(texts: list[str] | None) -> list[str]:
    return split_list(texts or ())


def _moment(value: object) -> datetime:
    text = str(value)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is not None:
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    try:
        return datetime.now(UTC) - timedelta(seconds=parse_duration(text))
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"{text!r} is neither a date such as 2026-11-21 nor a time such as 7d"
        ) from error


@dataclass(frozen=True, kw_only=True)
@with_axes(
    [axis.name for axis in _AXES],
    {axis.name: f"Only these {_plural(axis.name)}." for axis in _AXES},
)
class _AxisFilters(AxisOptions):
    """Filters by the axes of cells."""


@dataclass(frozen=True, kw_only=True)
class _OtherFilters:
    """Filters by other words, and by time."""

    family: Annotated[
        list[str] | None, _names("Only these families of models.", autocompletion=complete_family)
    ] = None
    task: Annotated[list[str] | None, _names("Only these tasks.")] = None
    hardware: Annotated[
        list[str] | None, _names("Only these devices, by the names that `query hardware` shows.")
    ] = None
    host: Annotated[list[str] | None, _names("Only machines of these ids.")] = None
    hostname: Annotated[list[str] | None, _names("Only machines of these names.")] = None
    launcher: Annotated[list[str] | None, _names("Only docker or process.")] = None
    grade: Annotated[list[str] | None, _names("Only these grades.")] = None
    since: Annotated[
        datetime | None,
        typer.Option(
            metavar="DATE|TIME",
            help="Measured since 2026-11-21, or in the last 7d.",
            parser=parser_of(_moment),
        ),
    ] = None
    until: Annotated[
        datetime | None,
        typer.Option(
            metavar="DATE|TIME",
            help="Measured before 2026-11-21, or 7d ago.",
            parser=parser_of(_moment),
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ResultSelection(_AxisFilters, _OtherFilters, DatabaseChoice):
    """Options that choose results."""

    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="RUN_ID|last",
            help="Only this run's results.  [default: the newest of each series]",
            autocompletion=complete_run,
        ),
    ] = None
    select: Select = None
    source: Annotated[
        list[str] | None,
        typer.Option(
            metavar="all|NAMES",
            help="all: imported results too, marked; a name: only those of that source.",
            callback=_split,
        ),
    ] = None
    all_: Annotated[
        bool, typer.Option("--all", help="Results without proof or with wrong outputs too, marked.")
    ] = False

    @property
    def selected(self) -> SelectionRequest:
        filters: dict[str, Any] = {
            axis: tuple(map(int, values)) if axis in _NUMBERS else values
            for axis, values in self.axes.items()
            if values
        }
        filters |= {name: value for name in _WORDS if (value := getattr(self, name)) is not None}
        if self.select:
            filters["select"] = tuple(self.select)
        if self.source and _EVERY_SOURCE not in self.source:
            filters["source"] = self.source
        return SelectionRequest(
            database=self.database_file,
            filters=filters,  # type: ignore[arg-type]
            run=self.run,
            imported=bool(self.source),
            unquotable=self.all_,
            results=self.results,
        )
