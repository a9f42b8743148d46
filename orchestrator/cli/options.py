"""Options that several commands share."""

import inspect
import shlex
import sys
from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from orchestrator.cli.app import chosen
from orchestrator.render.lines import print_note
from orchestrator.system.files import DATABASE_NAME
from runner.contract.axes import AXES, Axis

if TYPE_CHECKING:
    from orchestrator.running.run_file import RunOptions


class LauncherChoice(StrEnum):
    """The launcher of jobs."""

    auto = "auto"
    docker = "docker"
    process = "process"


class AnswerFormat(StrEnum):
    """Formats of an answer."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"
    markdown = "markdown"


MatrixArgument = Annotated[Path, typer.Argument(metavar="MATRIX", help="The matrix file.")]
MatrixIfAny = Annotated[
    Path | None, typer.Argument(metavar="MATRIX", help="The matrix file.", show_default=False)
]
Select = Annotated[
    list[str] | None,
    typer.Option(
        "--select", metavar="GLOB", help="Keep cells whose id matches; '!GLOB' drops. Repeatable."
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change the matrix, e.g. axes.batch_size=1,8. Repeatable.",
    ),
]
Limit = Annotated[
    int | None, typer.Option("--limit", min=1, metavar="N", help="Run the first N cells only.")
]
LauncherOption = Annotated[
    LauncherChoice,
    typer.Option("--launcher", help="auto: containers if an engine answers, else processes."),
]
Results = Annotated[
    Path, typer.Option("--results", metavar="DIR", help="The folder that holds all runs.")
]
Database = Annotated[
    Path | None,
    typer.Option(
        "--database", metavar="FILE", help=f"The DuckDB file.  [default: DIR/{DATABASE_NAME}]"
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed", min=0, max=2**63 - 1, help="Seed of weights, inputs and the order of execution."
    ),
]
Wide = Annotated[
    bool, typer.Option("--wide", help="Leave no column out, however narrow the terminal.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan and stop.")]
FailFast = Annotated[
    bool,
    typer.Option(
        "--fail-fast/--keep-going", help="Stop launching after the first failure, or not."
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        "--budget", metavar="TIME", help="Launch no further job after this long, e.g. 20m."
    ),
]
VerifyOnly = Annotated[
    bool,
    typer.Option("--verify-only", help="Check function and correctness, without timing."),
]
NoVerify = Annotated[
    bool, typer.Option("--no-verify", help="Time only, without checking correctness.")
]
TRACE_HELP = "Leave a trace and the heaviest operators of each cell, from an untimed pass."
Trace = Annotated[bool, typer.Option("--trace", help=TRACE_HELP)]
TraceOrProfile = Annotated[
    bool,
    typer.Option(
        "--trace",
        "--profile",
        help=f"{TRACE_HELP} How long to measure is measure.profile in the file.",
    ),
]
_SCRATCH_HELP = "A database of its own kind, which alone takes fake and synthetic rows."
Scratch = Annotated[bool, typer.Option("--scratch", help=_SCRATCH_HELP)]
ScratchOfTests = Annotated[bool, typer.Option("--scratch", hidden=True, help=_SCRATCH_HELP)]
"""Hidden: only our tests have such rows to store."""
Output = Annotated[
    Path | None,
    typer.Option("--output", metavar="FILE", help="Write it there, whole or not at all."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]
Json = Annotated[bool, typer.Option("--json", help="Print data as JSON.")]


def database_in(results: Path, database: Path | None) -> Path:
    """The database named, or the one in the results folder."""
    return database or results / DATABASE_NAME


def answer_format(chosen: AnswerFormat | None, *, as_json: bool) -> str | None:
    """The format that two options ask for, if any.

    Raises:
        UsageError: they ask for different ones.
    """
    from runner.contract.errors import UsageError

    if as_json and chosen not in {None, AnswerFormat.json}:
        raise UsageError(
            f"--json and --format {chosen} contradict each other", hint="give one of them"
        )
    return "json" if as_json else chosen and chosen.value


def refuse_beside(context: typer.Context, other: str, names: Collection[str]) -> None:
    """Refuse parameters of these names, which cannot be combined with that.

    Raises:
        UsageError: one of them was given.
    """
    from runner.contract.errors import UsageError

    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in names and source is not None and source.name == "COMMANDLINE":
            raise UsageError(
                f"{parameter.opts[0]}: cannot be combined with {other}",
                hint="leave one of them out",
            )


def run_options(
    *,
    launcher: LauncherChoice,
    database: Path | None,
    seed: int,
    scratch: bool = False,
    verify_only: bool = False,
    no_verify: bool = False,
    trace: bool = False,
    fail_fast: bool = False,
    budget: str | None = None,
) -> "RunOptions":
    """The options of a run, as the use cases take them.

    Raises:
        UsageError: both were asked for, to verify only and not to verify.
        typer.BadParameter: the budget is no duration.
    """
    from orchestrator.running.run_file import RunOptions
    from runner.contract.errors import UsageError

    if verify_only and no_verify:
        raise UsageError(
            "--verify-only and --no-verify leave nothing to do together",
            hint="give one of them, or none to time and verify",
        )
    return RunOptions(
        launcher=launcher.value,
        database=database,
        seed=seed,
        scratch=scratch,
        purpose="verify" if verify_only else "time" if no_verify else "measure",
        trace=trace,
        fail_fast=fail_fast,
        budget_s=parse_seconds(budget, "--budget"),
    )


def parse_seconds(text: str | None, option: str) -> float | None:
    """The seconds of an option that takes a duration, if it was given.

    Raises:
        typer.BadParameter: it is no duration.
    """
    from orchestrator.system.text import parse_duration

    try:
        return None if text is None else parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def parse_bytes(text: str | None, option: str) -> int | None:
    """The bytes of an option that takes a size, if it was given.

    Raises:
        typer.BadParameter: it is no size.
    """
    from orchestrator.system.text import parse_size

    try:
        return None if text is None else parse_size(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def command_line() -> str:
    """The command line that the user typed, for `run.json`."""
    return shlex.join(["orchestrator", *sys.argv[1:]])


def note(text: str) -> None:
    """Show one line on stderr, unless the user wants quiet."""
    if not chosen.quiet:
        print_note(text)


Command = TypeVar("Command", bound=Callable[..., Any])
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def list_option(axis: Axis) -> dict[str, Any]:
    """The option that lists values of an axis, by the name of its parameter."""
    option = typer.Option(metavar=axis.metavar, help=axis.full_help)
    return {axis.parameter: Annotated[list[str] | None, option]}


def size_options() -> dict[str, Any]:
    """The options that name one size each, by the names of their parameters."""
    return {
        axis.name: Annotated[int | None, typer.Option(metavar="N", help=axis.full_size_help)]
        for axis in AXES
        if axis.size_help
    }


def with_options(at: int, options: Mapping[str, Any]) -> Callable[[Command], Command]:
    """Insert options at a position of a command that takes them as further keywords."""

    def decorate(command: Command) -> Command:
        own = inspect.signature(command).parameters.values()
        parameters = [p.replace(kind=_KEYWORD) for p in own if p.kind != p.VAR_KEYWORD]
        parameters[at:at] = [
            inspect.Parameter(name, _KEYWORD, default=None, annotation=annotation)
            for name, annotation in options.items()
        ]
        vars(command)["__signature__"] = inspect.Signature(parameters)
        return command

    return decorate
