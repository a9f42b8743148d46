"""Options of a run, as the command line sets them, and where its plan came from."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from orchestrator.backends.catalogue import LauncherName
from runner.contract.cell import Backend, Frozen, Purpose
from runner.contract.variables import VariableName
from runner.contract.web.browser_choice import BrowserChoice

ImageReference = Annotated[
    str, Field(pattern=r"^[a-z0-9][\w.:/-]*(@sha256:[0-9a-f]{64})?$", max_length=400)
]
"""The name of an image with its registry, and a tag or a digest."""


class RunOptions(Frozen):
    """Options of a run: set by the command line, kept in `run.json`, read by the execution.

    A resumed run keeps those of `run.json`; the others are chosen anew.
    """

    launcher: LauncherName | Literal["auto"] = "auto"
    """The launcher of its jobs; `auto` until one is chosen."""
    database: Path | None = None
    """The DuckDB file that takes its records, absolute once kept; null: the one beside the runs."""
    seed: int | None = None
    """Seed of the order of execution and of arrivals; null until one is drawn."""
    weights_seed: int = 0
    """Seed of weights, inputs, references and graphs."""
    scratch: bool = False
    """True if the database is a scratch one, which alone takes rows of the fake backend."""
    purpose: Purpose = "measure"
    """Cells are timed, verified or both."""
    trace: bool = False
    """True if each cell leaves a trace of one untimed iteration."""
    inherit_environ: tuple[VariableName, ...] = ()
    """Environment variables of the user's that runners are given, by name."""
    images: dict[Backend, ImageReference] = Field(default_factory=dict)
    """Images that the user chose by their references, whoever made them."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Labels of the run, the user's and those of its CI job."""
    browser: BrowserChoice | None = None
    """The browser that local processes drive; null for our own."""
    fail_fast: bool = Field(default=False, exclude=True)
    """Launch nothing more after the first failure. Not kept in `run.json`."""
    budget_s: float | None = Field(default=None, exclude=True)
    """Launch nothing more after this many seconds. Not kept in `run.json`."""
    whole_budget_s: float | None = Field(default=None, exclude=True)
    """The budget that messages name, if `budget_s` is what is left of it. Not kept in `run.json`.
    """
    earlier_images: bool = Field(default=False, exclude=True)
    """True if jobs may execute in images of an earlier version, whose runners refuse fields that
    jobs have gained since. Not kept in `run.json`."""


class RunSource(Frozen):
    """The matrix and the command line that a run came from."""

    matrix: str | None = None
    """The matrix as text; null when options stood for one."""
    matrix_path: Path | None = None
    """The file the matrix came from."""
    command: str | None = None
    """The command line that planned it."""
