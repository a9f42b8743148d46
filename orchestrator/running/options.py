"""Options of a run: commands offer them, `run.json` keeps them, and the execution reads them.

Little is imported here, as every `--help` of a command that measures waits for it.
"""

from dataclasses import dataclass, fields
from typing import Annotated, ClassVar, Literal

import typer

from orchestrator.running.given import ChosenImage, Label
from orchestrator.system.options import Database, choice, number_parser, seconds_parser
from runner.contract.axes import Backend
from runner.contract.errors import UsageError

LauncherChoice = Literal["auto", "docker", "process"]
_LARGEST_SEED = 2**63 - 1


def _set_variables(names: list[str] | None) -> list[str]:
    """The names of variables that our environment has."""
    if not names:
        return []
    from orchestrator.launchers.environment import set_variables

    return list(set_variables(names))


LauncherOption = Annotated[
    LauncherChoice,
    choice(
        LauncherChoice, "--launcher", help="auto: containers if an engine answers, else processes."
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="Seed of the order of execution and of arrivals.  [default: drawn]",
        parser=number_parser(0, _LARGEST_SEED),
    ),
]
WeightsSeed = Annotated[
    int,
    typer.Option(
        "--weights-seed",
        metavar="N",
        help="Seed of weights, inputs, references and graphs.",
        parser=number_parser(0, _LARGEST_SEED),
    ),
]
Images = Annotated[
    list[ChosenImage] | None,
    typer.Option(
        "--image",
        metavar="BACKEND=REF",
        help="Execute the backend's jobs in this image, whoever made it. Repeatable.",
        parser=ChosenImage.parse,
    ),
]
HiddenScratch = Annotated[
    bool,
    typer.Option(
        "--scratch",
        hidden=True,  # only our tests have such rows to store
        help="A database of its own kind, which alone takes fake and synthetic rows.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a run. A resumed run keeps those of `run.json`, but for budget and `fail_fast`."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    launcher: LauncherOption = "auto"
    """The launcher of its jobs; `auto` until one is chosen."""
    database: Database = None
    """The DuckDB file that takes its records, absolute once kept; None: the one beside the runs."""
    seed: Seed = None
    """None until one is drawn."""
    weights_seed: WeightsSeed = 0
    verify_only: Annotated[
        bool, typer.Option("--verify-only", help="Check function and correctness, without timing.")
    ] = False
    no_verify: Annotated[
        bool, typer.Option("--no-verify", help="Time only, without checking correctness.")
    ] = False
    trace: Annotated[
        bool,
        typer.Option(
            "--trace",
            help="Leave a trace and the heaviest operators of each cell, from an untimed pass.",
        ),
    ] = False
    inherit_environ: Annotated[
        list[str] | None,
        typer.Option(
            "--inherit-environ",
            metavar="NAME",
            help="Give runners this variable of the shell, which they start without. Repeatable.",
            callback=_set_variables,
        ),
    ] = None
    image: Images = None
    label: Annotated[
        list[Label] | None,
        typer.Option(
            "--label",
            metavar="KEY=VALUE",
            help="Keep this with the run, beside what a CI job says of itself. Repeatable.",
            parser=Label.parse,
        ),
    ] = None
    fail_fast: Annotated[
        bool,
        typer.Option(
            "--fail-fast/--keep-going", help="Stop launching after the first failure, or not."
        ),
    ] = False
    budget_s: Annotated[
        float | None,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="Launch no further job after this long, e.g. 20m.",
            parser=seconds_parser,
        ),
    ] = None
    scratch: HiddenScratch = False

    @property
    def purpose(self) -> Literal["measure", "verify", "time"]:
        """The purpose of its jobs: cells are timed, verified or both.

        Raises:
            UsageError: neither is asked for.
        """
        if self.verify_only and self.no_verify:
            raise UsageError(
                "--verify-only and --no-verify leave nothing to do together",
                hint="give one of them, or none to time and verify",
            )
        return "verify" if self.verify_only else "time" if self.no_verify else "measure"

    @property
    def images(self) -> dict[Backend, str]:
        """The references of chosen images, by backend."""
        return {image.backend: image.reference for image in self.image or ()}

    def alone(self) -> "RunOptions":
        """These options without the others of the command that offers them."""
        return RunOptions(**{field.name: getattr(self, field.name) for field in fields(RunOptions)})
