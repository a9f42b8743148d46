"""Options of `run` and `bench`: what is done with each cell, by which seeds, and when to stop."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.program.groups import Command, with_option_group

if TYPE_CHECKING:
    from orchestrator.running.options import RunOptions

_VerifyOnly = Annotated[
    bool,
    typer.Option("--verify-only", help="Check function and correctness, without timing."),
]
_NoVerify = Annotated[
    bool, typer.Option("--no-verify", help="Time only, without checking correctness.")
]
_InheritEnviron = Annotated[
    list[str] | None,
    typer.Option(
        "--inherit-environ",
        metavar="NAME",
        help="Give runners this variable of the shell, which they start without. Repeatable.",
    ),
]
_Label = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="KEY=VALUE",
        help="Keep this with the run, beside what a CI job says of itself. Repeatable.",
    ),
]
_Trace = Annotated[
    bool,
    typer.Option(
        "--trace",
        help="Leave a trace and the heaviest operators of each cell, from an untimed pass.",
    ),
]
_FailFast = Annotated[
    bool,
    typer.Option(
        "--fail-fast/--keep-going", help="Stop launching after the first failure, or not."
    ),
]
_Budget = Annotated[
    str | None,
    typer.Option(
        "--budget", metavar="TIME", help="Launch no further job after this long, e.g. 20m."
    ),
]
_OPTIONS: Mapping[str, tuple[Any, object]] = {
    "seed": (options.Seed, None),
    "weights_seed": (options.WeightsSeed, 0),
    "verify_only": (_VerifyOnly, False),
    "no_verify": (_NoVerify, False),
    "trace": (_Trace, False),
    "inherit_environ": (_InheritEnviron, None),
    "image": (options.ChosenImage, None),
    "label": (_Label, None),
    "fail_fast": (_FailFast, False),
    "budget": (_Budget, None),
    "scratch": (options.ScratchOfTests, False),
}


@dataclass(frozen=True)
class WorkOptions:
    """Values of these options, as they were given."""

    seed: int | None
    weights_seed: int
    verify_only: bool
    no_verify: bool
    trace: bool
    inherit_environ: Sequence[str] | None
    image: Sequence[str] | None
    label: Sequence[str] | None
    fail_fast: bool
    budget: str | None
    scratch: bool

    def run_options(self, launcher: options.LauncherChoice, database: Path | None) -> "RunOptions":
        """The options of a run.

        Raises:
            UsageError: both were asked for, to verify only and not to verify; a variable is not
                set; an image or a label is none.
            typer.BadParameter: the budget is no duration.
        """
        return options.run_options(launcher=launcher, database=database, **vars(self))

    @property
    def beside_resume(self) -> Mapping[str, object]:
        """Those that would change what a resumed run has planned."""
        free = ("fail_fast", "budget", "scratch")
        planned = {name: value for name, value in vars(self).items() if name not in free}
        return planned | {"seed": self.seed is not None}


def with_work_options(command: Command) -> Command:
    """Give a command these options, which it takes as its parameter `work`."""
    return with_option_group(command, "work", _OPTIONS, lambda chosen: WorkOptions(**chosen))
