"""What a run set out to do: enough to resume it."""

from datetime import UTC, datetime

from pydantic import AwareDatetime

from orchestrator.backends.catalogue import LauncherName
from orchestrator.planning.plan import Plan
from runner.contract.cell import Frozen, Purpose

RUN_FILE = "run.json"


class RunFile(Frozen):
    """What a run set out to do."""

    run_id: str
    """The run's id."""
    started_at: AwareDatetime
    """When it was planned, UTC."""
    matrix: str | None
    """The matrix as text; null when options stood for one."""
    command: str | None = None
    """The command line that planned it."""
    matrix_path: str | None
    """The file the matrix came from."""
    launcher: LauncherName
    """Where its jobs execute."""
    database: str | None
    """Absolute path of the DuckDB file that takes its records; null: the one beside the runs."""
    seed: int
    """Seed of weights, inputs and the order of execution."""
    scratch: bool = False
    """Whether it may measure with the fake backend, whose rows only a scratch database takes."""
    purpose: Purpose = "measure"
    """Whether its cells are timed, verified or both."""
    trace: bool = False
    """Whether each cell leaves a trace of one untimed iteration."""
    git_commit: str | None
    """Commit of the AccelMatrix checkout, with `-dirty` behind it if it had changes."""
    hostname: str
    """The host that runs it."""
    orchestrator_version: str
    """Version of the orchestrator that planned it."""
    plan: Plan
    """Every cell with its decision."""


def new_run_id() -> str:
    """An id that sorts by time, e.g. `20261121-115951-3fa2`; the end counts 1/65536 seconds."""
    now = datetime.now(UTC)
    return f"{now:%Y%m%d-%H%M%S}-{now.microsecond * 0x10000 // 1_000_000:04x}"
