"""Options that several commands share."""

import os
import shlex
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.program.program import chosen
from orchestrator.screen.lines import print_note
from orchestrator.system.files import DATABASE_NAME

if TYPE_CHECKING:
    from orchestrator.running.options import RunOptions


class LauncherChoice(StrEnum):
    """The launcher of jobs."""

    auto = "auto"
    docker = "docker"
    process = "process"


class ProfileChoice(StrEnum):
    """The profile of a measurement."""

    quick = "quick"
    standard = "standard"
    audit = "audit"


class AnswerFormat(StrEnum):
    """Formats of an answer."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"
    markdown = "markdown"


_LARGEST_SEED = 2**63 - 1


def one_of(choices: type[StrEnum]) -> str:
    """The choices as help names the value of an option: `auto|docker|process`."""
    return "|".join(choices)


def require_positive(value: int | None) -> int | None:
    """The number, if it is above 0.

    Raises:
        typer.BadParameter: it is not.
    """
    if value is not None and value < 1:
        raise typer.BadParameter(f"{value} is less than 1")
    return value


def require_none_below_zero(value: int | None) -> int | None:
    """The number, if it is not below 0.

    Raises:
        typer.BadParameter: it is.
    """
    if value is not None and value < 0:
        raise typer.BadParameter(f"{value} is less than 0")
    return value


def _known_seed(value: int | None) -> int | None:
    if value is not None and not 0 <= value <= _LARGEST_SEED:
        raise typer.BadParameter(f"{value} is not between 0 and {_LARGEST_SEED}")
    return value


def _no_model(path: Path | None) -> Path | None:
    """The path of a matrix, unless it is no file and a model is called like that.

    Raises:
        UsageError: it is a model.
    """
    from orchestrator.commands.program.completion_words import model_names
    from runner.contract.errors import UsageError

    if path is not None and str(path) in model_names() and not path.exists():
        raise UsageError(
            f"{path}: there is no such file; did you mean `orchestrator bench --model {path}`?",
            hint="a model needs no matrix file",
        )
    return path


MatrixArgument = Annotated[
    Path, typer.Argument(metavar="MATRIX", help="The matrix file.", callback=_no_model)
]
MatrixIfAny = Annotated[
    Path | None,
    typer.Argument(
        metavar="MATRIX", help="The matrix file.", show_default=False, callback=_no_model
    ),
]
Select = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        metavar="WORD|GLOB",
        help="Keep cells whose id holds the word, or fits the glob as a whole; "
        "'!…' drops. Repeatable.",
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
Profile = Annotated[
    ProfileChoice | None,
    typer.Option(
        "--profile",
        metavar=one_of(ProfileChoice),
        help="How long to measure; as --set measure.profile.",
    ),
]
_SUSTAINED = "measure.heat_duration=60s"
"""Twice the 28 s for which Intel's processors usually may take more power than they sustain."""
Sustained = Annotated[
    bool,
    typer.Option("--sustained", help=f"Heat the machine first; as --set {_SUSTAINED}."),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit", metavar="N", help="Run the first N cells only.", callback=require_positive
    ),
]
LauncherOption = Annotated[
    LauncherChoice,
    typer.Option(
        "--launcher",
        metavar=one_of(LauncherChoice),
        help="auto: containers if an engine answers, else processes.",
    ),
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
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="Seed of the order of execution and of arrivals.  [default: drawn]",
        callback=_known_seed,
    ),
]
WeightsSeed = Annotated[
    int,
    typer.Option(
        "--weights-seed",
        metavar="N",
        help="Seed of weights, inputs, references and graphs.",
        callback=_known_seed,
    ),
]
Wide = Annotated[
    bool, typer.Option("--wide", help="Leave no column out, however narrow the terminal.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan and stop.")]
ChosenImage = Annotated[
    list[str] | None,
    typer.Option(
        "--image",
        metavar="BACKEND=REF",
        help="Execute the backend's jobs in this image, whoever made it. Repeatable.",
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
JsonFile = Annotated[
    Path | None,
    typer.Option(
        "--output",
        metavar="FILE",
        help="Write the results there as JSON, beside the screen's; with --compare-to the verdicts"
        " as Markdown (.md) or JUnit (.xml).",
    ),
]
ChartFile = Annotated[
    Path | None,
    typer.Option("--chart", metavar="FILE", help="Draw it: a .png, .svg or .html."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]
Json = Annotated[bool, typer.Option("--json", help="Print data as JSON.")]


def database_in(results: Path, database: Path | None) -> Path:
    """The database named, or the one in the results folder."""
    return database or results / DATABASE_NAME


def answer_format(chosen: StrEnum | None, *, as_json: bool) -> str | None:
    """The format that two options ask for, if any.

    Raises:
        UsageError: they ask for different ones.
    """
    from runner.contract.errors import UsageError

    if as_json and chosen not in {None, "json"}:
        raise UsageError(
            f"--json and --format {chosen} contradict each other", hint="give one of them"
        )
    return "json" if as_json else chosen and chosen.value


def run_options(
    *,
    launcher: LauncherChoice,
    database: Path | None,
    seed: int | None = None,
    weights_seed: int = 0,
    scratch: bool = False,
    verify_only: bool = False,
    no_verify: bool = False,
    trace: bool = False,
    inherit_environ: Sequence[str] | None = None,
    image: Sequence[str] | None = None,
    label: Sequence[str] | None = None,
    fail_fast: bool = False,
    budget: str | None = None,
) -> "RunOptions":
    """The options of a run, as the use cases take them.

    Raises:
        UsageError: both were asked for, to verify only and not to verify; a variable is not set; an
            image or a label is none.
        typer.BadParameter: the budget is no duration.
    """
    from orchestrator.commands.options.given import chosen_images, given_labels
    from orchestrator.launchers.environment import chosen_browser, set_variables
    from orchestrator.running.options import RunOptions
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
        weights_seed=weights_seed,
        scratch=scratch,
        purpose="verify" if verify_only else "time" if no_verify else "measure",
        trace=trace,
        inherit_environ=set_variables(inherit_environ or ()),
        images=chosen_images(image or ()),
        labels=given_labels(label or (), os.environ),
        browser=chosen_browser(),
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


def overrides_of(
    set_: Sequence[str] | None, profile: ProfileChoice | None = None, *, sustained: bool = False
) -> tuple[str, ...]:
    """The changes of a matrix that options ask for, `path=value`."""
    measured = () if profile is None else (f"measure.profile={profile.value}",)
    return (*([_SUSTAINED] if sustained else ()), *(set_ or ()), *measured)
