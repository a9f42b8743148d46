"""Options that several commands share."""

import shlex
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from orchestrator.commands.program.completion import complete_family, model_names
from orchestrator.commands.program.program import chosen
from orchestrator.screen.lines import print_note
from orchestrator.system.files import DATABASE_NAME, RESULTS_FOLDER
from orchestrator.system.options import Database, Results, choice, number_parser
from runner.contract.errors import UsageError

ProfileWord = Literal["quick", "standard", "audit"]


def _no_model(path: Path | None) -> Path | None:
    """The path of a matrix, unless it is no file and a model is called like that."""
    if path is not None and str(path) in model_names() and not path.exists():
        raise UsageError(
            f"{path}: there is no such file; did you mean `orchestrator bench --model {path}`?",
            hint="a model needs no matrix file",
        )
    return path


_matrix = partial(typer.Argument, metavar="MATRIX", help="The matrix file.", callback=_no_model)
MatrixArgument = Annotated[Path, _matrix()]
MatrixIfAny = Annotated[Path | None, _matrix(show_default=False)]
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
    ProfileWord | None,
    choice(ProfileWord, "--profile", help="How long to measure; as --set measure.profile."),
]
_SUSTAINED = "measure.heat_duration=60s"
"""Twice the 28 s for which Intel's processors usually may take more power than they sustain."""
FamilyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--family", metavar="NAMES", help="All models of a family.", autocompletion=complete_family
    ),
]
EveryModel = Annotated[bool, typer.Option("--all", help="All models of the catalogue.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan and stop.")]
ScratchOption = Annotated[
    bool,
    typer.Option(
        "--scratch", help="A database of its own kind, which alone takes fake and synthetic rows."
    ),
]


@dataclass(frozen=True, kw_only=True)
class DatabaseChoice:
    """The options of commands that read or write a database."""

    results: Results = RESULTS_FOLDER
    database: Database = None

    @property
    def database_file(self) -> Path:
        """The database named, or the one in the results folder."""
        return self.database or self.results / DATABASE_NAME


@dataclass(frozen=True, kw_only=True)
class MatrixChanges:
    """The options that take a part of a matrix and change it."""

    select: Select = None
    set_: Set = None
    sustained: Annotated[
        bool, typer.Option("--sustained", help=f"Heat the machine first; as --set {_SUSTAINED}.")
    ] = False
    limit: Annotated[
        int | None,
        typer.Option(metavar="N", help="Run the first N cells only.", parser=number_parser()),
    ] = None

    def overrides(self, profile: str | None = None) -> tuple[str, ...]:
        heated = (_SUSTAINED,) if self.sustained else ()
        return (*heated, *overrides_of(self.set_, profile))


def overrides_of(set_: list[str] | None, profile: str | None) -> tuple[str, ...]:
    """The changes of a matrix that two options ask for, `path=value`."""
    measured = () if profile is None else (f"measure.profile={profile}",)
    return (*(set_ or ()), *measured)


def command_line() -> str:
    """The command line that the user typed, for `run.json`."""
    return shlex.join(["orchestrator", *sys.argv[1:]])


def note(text: str) -> None:
    """Show one line on stderr, unless the user wants quiet."""
    if not chosen.quiet:
        print_note(text)
