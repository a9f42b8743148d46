"""Options that choose the results which a question is about."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.commands.options.axes import AxisOptions, with_axes
from orchestrator.commands.options.common import DatabaseChoice, Select
from orchestrator.commands.program.completion import complete_family, complete_run
from orchestrator.system.options import parser_of, split_words
from orchestrator.system.text import parse_duration
from runner.contract.axes import AXES

if TYPE_CHECKING:
    from orchestrator.commands.results.selection import SelectionRequest

_EVERY_SOURCE = "all"
_NO_FILTER = ("target_qps", "slo_ms")
"""Axes whose values no option chooses by; `--select` does."""
_AXES = tuple(axis for axis in AXES if axis.name not in _NO_FILTER)
_NUMBERS = frozenset(axis.name for axis in _AXES if axis.kind in ("size", "count"))
_WORDS = ("family", "task", "hardware", "host", "hostname", "launcher", "grade", "since", "until")


def _plural(name: str) -> str:
    name = name.replace("_", " ")
    return f"numbers of {name}" if name.endswith("s") else f"{name}s"


def _names(text: str, **settings: Any) -> Any:
    return typer.Option(metavar="NAMES", help=text, callback=split_words, **settings)


def _model_names(words: Iterable[str]) -> Iterator[str]:
    """The names of models; a path stands for those that its folder or file gives."""
    for word in words:
        path = Path(word).expanduser()
        if not word.startswith(("~", ".")) and os.sep not in word:
            yield word
        elif path.is_file():
            from orchestrator.matrix.model_files import read_models

            yield from read_models(path)
        else:
            from orchestrator.matrix.model_folder import name_of

            yield name_of(path)


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


def _time(text: str) -> Any:
    return typer.Option(metavar="DATE|TIME", help=text, parser=parser_of(_moment))


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
        list[str] | None, _names("Only these devices, by the names of `query hardware_info`.")
    ] = None
    host: Annotated[list[str] | None, _names("Only machines of these ids.")] = None
    hostname: Annotated[list[str] | None, _names("Only machines of these names.")] = None
    launcher: Annotated[list[str] | None, _names("Only docker or process.")] = None
    grade: Annotated[list[str] | None, _names("Only these grades.")] = None
    since: Annotated[datetime | None, _time("Measured since 2026-11-21, or in the last 7d.")] = None
    until: Annotated[datetime | None, _time("Measured before 2026-11-21, or 7d ago.")] = None


@dataclass(frozen=True, kw_only=True)
class ResultSelection(_AxisFilters, _OtherFilters, DatabaseChoice):
    """Options that choose results."""

    run: Annotated[
        str | None,
        typer.Option(
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
            callback=split_words,
        ),
    ] = None
    all_: Annotated[
        bool, typer.Option("--all", help="Results without proof or with wrong outputs too, marked.")
    ] = False

    @property
    def selected(self) -> "SelectionRequest":
        from analysis.statistics.ratios import THRESHOLD
        from orchestrator.commands.results.selection import SelectionRequest

        filters: dict[str, Any] = {
            axis: tuple(map(int, values)) if axis in _NUMBERS else values
            for axis, values in self.axes.items()
            if values
        }
        if "model" in filters:
            filters["model"] = [*_model_names(filters["model"])]
        filters |= {name: value for name in _WORDS if (value := getattr(self, name)) is not None}
        if self.select:
            filters["select"] = tuple(self.select)
        if self.source and _EVERY_SOURCE not in self.source:
            filters["source"] = self.source
        threshold = getattr(self, "threshold", None)  # of commands that compare
        return SelectionRequest(
            database=self.database_file,
            filters=filters,  # type: ignore[arg-type]
            run=self.run,
            imported=bool(self.source),
            unquotable=self.all_,
            threshold=THRESHOLD if threshold is None else threshold,
            results=self.results,
        )
