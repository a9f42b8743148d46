"""Options of a run, and `run.json`, which keeps them with its plan: enough to resume it."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, Field, ValidationError

from orchestrator.backends.catalogue import LauncherName
from orchestrator.planning.plan import Plan
from orchestrator.store import RUN_ID
from orchestrator.system.text import escape_control_line
from runner.contract.cell import Frozen, Purpose
from runner.contract.errors import DamagedFile
from runner.contract.plain_files import read_plain

RUN_FILE = "run.json"
RUN_BYTES = 1 << 30
"""Most bytes of a `run.json`: the plan of a million cells has some 600 MB."""
_SECONDS = "%Y%m%d-%H%M%S"
_LETTERS = 300
"""Letters of a reason."""
PREPARATIONS_FOLDER = "preparations"
"""The folder, beside those of runs, with jobs and logs of `orchestrator prepare`."""


class RunOptions(Frozen):
    """Options of a run: set by the command line, kept in `run.json`, read by the execution.

    A resumed run keeps those of `run.json`; the others are chosen anew.
    """

    launcher: LauncherName | Literal["auto"] = "auto"
    """The launcher of its jobs; `auto` until one is chosen."""
    database: Path | None = None
    """The DuckDB file that takes its records, absolute once kept; null: the one beside the runs."""
    seed: int = 0
    """Seed of weights, inputs and the order of execution."""
    scratch: bool = False
    """True if the database is a scratch one, which alone takes rows of the fake backend."""
    purpose: Purpose = "measure"
    """Cells are timed, verified or both."""
    trace: bool = False
    """True if each cell leaves a trace of one untimed iteration."""
    fail_fast: bool = Field(default=False, exclude=True)
    """Launch nothing more after the first failure. Not kept in `run.json`."""
    budget_s: float | None = Field(default=None, exclude=True)
    """Launch nothing more after this many seconds. Not kept in `run.json`."""


class RunSource(Frozen):
    """The matrix and the command line that a run came from."""

    matrix: str | None = None
    """The matrix as text; null when options stood for one."""
    matrix_path: Path | None = None
    """The file the matrix came from."""
    command: str | None = None
    """The command line that planned it."""


class RunFile(RunOptions, RunSource):
    """The content of `run.json`."""

    run_id: str
    """The run's id."""
    started_at: AwareDatetime
    """The moment it was planned, UTC."""
    launcher: LauncherName
    """The launcher of its jobs."""
    git_commit: str | None
    """Commit of the AccelMatrix checkout, with `-dirty` behind it if it had changes."""
    hostname: str
    """The host that runs it."""
    orchestrator_version: str
    """Version of the orchestrator that planned it."""
    plan: Plan
    """Every cell with its decision."""


def new_run_id(results: Path) -> str:
    """An id that sorts by time, e.g. `20261121-115951-3fa2`; the end counts 1/65536 seconds.

    If the clock was set back, so that runs of this folder lie ahead, it is a moment after theirs:
    the last run is the one that began last.
    """
    now = _id_at(datetime.now(UTC))
    names = (path.parent.name for path in results.glob(f"[!.]*/{RUN_FILE}"))
    newest = max(filter(RUN_ID.fullmatch, names), default="")
    with suppress(ValueError, OverflowError):  # a folder of another origin
        if newest >= now:
            day_and_time = newest.rpartition("-")[0]
            return _id_at(datetime.strptime(day_and_time, _SECONDS) + timedelta(seconds=1))
    return now


def _id_at(moment: datetime) -> str:
    return f"{moment:{_SECONDS}}-{moment.microsecond * 0x10000 // 1_000_000:04x}"


def read_run_file(path: Path) -> RunFile:
    """The content of a `run.json`.

    Raises:
        DamagedFile: it cannot be read, or is none; the reason does not name the file.
    """
    try:
        return RunFile.model_validate_json(read_plain(path, RUN_BYTES))
    except OSError as error:
        raise DamagedFile(f"cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        raise DamagedFile(f"cannot be read: {_first_fault(error)}") from error


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    location = ".".join(map(str, fault["loc"]))
    return escape_control_line(": ".join(filter(None, (location, fault["msg"]))))[:_LETTERS]
