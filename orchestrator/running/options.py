"""Options of a run: commands offer them, `run.json` keeps them, and the execution reads them.

Little is imported here, as every `--help` of a command that measures waits for it.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Annotated, ClassVar, Literal, NamedTuple, get_args

import typer

from orchestrator.system.options import Database, choice, number_parser, seconds_parser
from runner.contract.axes import Backend
from runner.contract.errors import UsageError, refuse_unknown

_KEY = re.compile(r"[A-Za-z][\w.-]{0,62}", re.ASCII)
_MOST_LETTERS = 500
_REFERENCE = re.compile(r"[a-z0-9][\w.:/-]*(@sha256:[0-9a-f]{64})?")
_LONGEST_REFERENCE = 400


@dataclass(frozen=True)
class ChosenImage:
    """An image in which the jobs of a backend execute, whoever made it."""

    backend: Backend
    reference: str

    def __post_init__(self) -> None:
        if not _REFERENCE.fullmatch(self.reference) or len(self.reference) > _LONGEST_REFERENCE:
            raise ValueError(f"{self.reference!r} is no name of an image")

    @classmethod
    def parse(cls, word: str) -> "ChosenImage":
        from orchestrator.backends.catalogue import CATALOGUE, real_backends

        name, _, reference = word.partition("=")
        backend = next((known for known in get_args(Backend) if known == name), None)
        if backend is None:
            raise UsageError(
                f"--image {word!r}: {refuse_unknown(name, real_backends())}",
                hint="write BACKEND=REFERENCE, e.g. cpu=ghcr.io/somebody/accelmatrix-cpu:1.0",
            )
        if CATALOGUE[backend].image is None:
            raise UsageError(f"--image {word!r}: no container can reach a device of {backend}")
        try:
            return cls(backend, reference)
        except ValueError as error:
            raise UsageError(
                f"--image {word!r}: {error}",
                hint="write it as `docker pull` takes it: registry/name:tag or"
                " registry/name@sha256:…",
            ) from error


class Label(NamedTuple):
    """A label of a run: the user's, or one of its CI job."""

    key: str
    value: str

    @classmethod
    def parse(cls, word: str) -> "Label":
        key, separator, value = word.partition("=")
        if not separator or not _KEY.fullmatch(key):
            raise UsageError(
                f"--label {word!r} is not KEY=VALUE",
                hint="a key has letters, digits and `_.-`, and begins with a letter",
            )
        if len(value) > _MOST_LETTERS or not value.isprintable():
            raise UsageError(
                f"--label {key}: its value is no line of at most {_MOST_LETTERS} letters",
                hint="keep longer texts elsewhere and give their address",
            )
        return cls(key, value)


def ci_labels(ours: Mapping[str, str]) -> list[Label]:
    """Commit, ref and address of the job of GitHub Actions or GitLab CI whose variables these are.

    The names of variables are those in the documentation of both.
    """
    if ours.get("GITHUB_ACTIONS") == "true":
        server, repository = ours.get("GITHUB_SERVER_URL"), ours.get("GITHUB_REPOSITORY")
        address = f"{server}/{repository}/actions/runs/{ours.get('GITHUB_RUN_ID')}"
        labels = {
            "github_sha": ours.get("GITHUB_SHA"),
            "github_ref": ours.get("GITHUB_REF"),
            "github_run": address if server and repository else None,
        }
    elif ours.get("GITLAB_CI") == "true":
        labels = {
            "gitlab_sha": ours.get("CI_COMMIT_SHA"),
            "gitlab_ref": ours.get("CI_COMMIT_REF_NAME"),
            "gitlab_job": ours.get("CI_JOB_URL"),
        }
    else:
        return []
    return [Label(key, value) for key, value in labels.items() if value]


LauncherChoice = Literal["auto", "docker", "process"]
_LARGEST_SEED = 2**63 - 1


def _set_variables(names: list[str] | None) -> list[str]:
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
_IN_IMAGE = "Execute the backend's jobs in this image, whoever made it. Repeatable"
_image = partial(typer.Option, "--image", metavar="BACKEND=REF", parser=ChosenImage.parse)
Images = Annotated[list[ChosenImage] | None, _image(help=f"{_IN_IMAGE}.")]
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
            metavar="NAME",
            help="Give runners this variable of the shell, which they start without. Repeatable.",
            callback=_set_variables,
        ),
    ] = None
    image: Annotated[
        list[ChosenImage] | None,
        _image(help=f"{_IN_IMAGE}; a backend's second image is compared with its first."),
    ] = None
    label: Annotated[
        list[Label] | None,
        typer.Option(
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
        """The purpose of its jobs: cells are timed, verified or both."""
        if self.verify_only and self.no_verify:
            raise UsageError(
                "--verify-only and --no-verify leave nothing to do together",
                hint="give one of them, or none to time and verify",
            )
        return "verify" if self.verify_only else "time" if self.no_verify else "measure"

    @property
    def images(self) -> dict[Backend, str]:
        """The image of each backend; of two, the second one."""
        return {image.backend: image.reference for image in self.image or ()}

    @property
    def first_images(self) -> tuple[ChosenImage, ...]:
        """The first image of each backend that has two, with which the second is compared."""
        counts = Counter(image.backend for image in self.image or ())
        for backend, count in counts.items():
            if count > 2:
                raise UsageError(
                    f"--image: {backend} has {count} images, and two are compared at once",
                    hint="name the baseline first, then the image that it is compared with",
                )
        firsts = {image.backend: image for image in reversed(self.image or ())}
        return tuple(firsts[backend] for backend, count in counts.items() if count > 1)

    def alone(self) -> "RunOptions":
        """These options without the others of the command that offers them."""
        return RunOptions(**{field.name: getattr(self, field.name) for field in fields(RunOptions)})
