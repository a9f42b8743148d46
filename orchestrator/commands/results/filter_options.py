"""Options that choose results: those of a run, of some sources, or that fit filters."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.axes import axis_values, list_option
from orchestrator.commands.program.completion import complete_family, complete_run
from orchestrator.commands.program.groups import Command, with_option_group
from orchestrator.system.files import RESULTS_FOLDER
from orchestrator.system.text import parse_duration, split_list
from runner.contract.axes import AXES, Axis

if TYPE_CHECKING:
    from orchestrator.commands.results.selection import SelectionRequest

_EVERY_SOURCE = "all"
_NO_FILTER = ("target_qps", "slo_ms")
"""Axes whose values no option chooses by; `--select` does."""
_AXES: tuple[Axis, ...] = tuple(axis for axis in AXES if axis.name not in _NO_FILTER)
_NUMBERS = frozenset(axis.name for axis in _AXES if axis.kind in ("size", "count"))
_WORDS: Mapping[str, str] = {
    "family": "Only these families of models.",
    "task": "Only these tasks.",
    "hardware": "Only these devices, by the names that `query hardware` shows.",
    "host": "Only machines of these ids.",
    "hostname": "Only machines of these names.",
    "launcher": "Only docker or process.",
    "grade": "Only these grades.",
}
"""Filters by other words, with their help."""


def _words_option(name: str, text: str) -> Any:
    completion = complete_family if name == "family" else None
    option = typer.Option(metavar="NAMES", help=text, autocompletion=completion)
    return Annotated[list[str] | None, option]


def _axis_option(axis: Axis) -> Any:
    name = axis.name.replace("_", " ")
    plural = f"numbers of {name}" if name.endswith("s") else f"{name}s"
    return list_option(axis, f"Only these {plural}.")[axis.name]


def _moment_option(name: str, text: str) -> Any:
    return Annotated[str | None, typer.Option(f"--{name}", metavar="DATE|TIME", help=text)]


_OPTIONS: Mapping[str, tuple[Any, object]] = {
    "run": (
        Annotated[
            str | None,
            typer.Option(
                "--run",
                metavar="RUN_ID|last",
                help="Only this run's results.  [default: the newest of each series]",
                autocompletion=complete_run,
            ),
        ],
        None,
    ),
    "select": (options.Select, None),
    "source": (
        Annotated[
            list[str] | None,
            typer.Option(
                metavar="all|NAMES",
                help="all: imported results too, marked; a name: only those of that source.",
            ),
        ],
        None,
    ),
    "everything": (
        Annotated[
            bool,
            typer.Option("--all", help="Results without proof or with wrong outputs too, marked."),
        ],
        False,
    ),
    **{axis.name: (_axis_option(axis), None) for axis in _AXES},
    **{name: (_words_option(name, text), None) for name, text in _WORDS.items()},
    "since": (_moment_option("since", "Measured since 2026-11-21, or in the last 7d."), None),
    "until": (_moment_option("until", "Measured before 2026-11-21, or 7d ago."), None),
    "results": (options.Results, RESULTS_FOLDER),
    "database": (options.Database, None),
}


def with_filters(command: Command) -> Command:
    """Give a command options that choose results, which it takes as its parameter `selected`.

    It gets a `SelectionRequest`.
    """
    return with_option_group(command, "selected", _OPTIONS, _request)


def _request(chosen: Mapping[str, Any]) -> "SelectionRequest":
    from orchestrator.commands.results.selection import SelectionRequest

    filters: dict[str, Any] = {
        axis: tuple(map(int, values)) if axis in _NUMBERS else values
        for axis, values in axis_values({axis.name: chosen[axis.name] for axis in _AXES}).items()
        if values
    }
    filters |= {name: split_list(chosen[name]) for name in _WORDS if chosen[name]}
    filters |= {
        name: _moment(name, chosen[name]) for name in ("since", "until") if chosen[name] is not None
    }
    if chosen["select"]:
        filters["select"] = tuple(chosen["select"])
    sources = split_list(chosen["source"] or ())
    named = [name for name in sources if name != _EVERY_SOURCE]
    if named and _EVERY_SOURCE not in sources:
        filters["source"] = named
    results: Path = chosen["results"]
    return SelectionRequest(
        database=options.database_in(results, chosen["database"]),
        filters=filters,  # type: ignore[arg-type]
        run=chosen["run"],
        imported=bool(sources),
        unquotable=chosen["everything"],
        results=results,
    )


def _moment(name: str, text: str) -> datetime:
    """The moment that an option names: a date, a date with its time, or a time ago; UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is not None:
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    try:
        return datetime.now(UTC) - timedelta(seconds=parse_duration(text))
    except (ValueError, OverflowError) as error:
        raise typer.BadParameter(
            f"{text!r} is neither a date such as 2026-11-21 nor a time such as 7d",
            param_hint=f"--{name}",
        ) from error
