"""A run, as the orchestrator that plans it tells the store."""

from pydantic import AwareDatetime, NonNegativeInt

from runner.cell import Frozen


class Run(Frozen):
    """One invocation of `orchestrator run`. Null says `not known`."""

    run_id: str
    """The run's id."""
    started_at: AwareDatetime
    """When the run began, UTC."""
    finished_at: AwareDatetime | None = None
    """When its last cell ended, UTC; null while the run goes on."""
    matrix: str | None = None
    """The matrix as text."""
    matrix_path: str | None = None
    """The file the matrix came from; null when it came from options."""
    command: str | None = None
    """The command line that planned it, with whatever it changed in the matrix."""
    launchers: tuple[str, ...] = ()
    """The launchers that executed its jobs."""
    seed: int | None = None
    """Seed of weights, inputs and order."""
    planned: NonNegativeInt | None = None
    """Cells that the plan decided to run; each of them ends with one verdict."""
    git_commit: str | None = None
    """Commit of the AccelMatrix checkout, with `-dirty` behind it if it had changes."""
    orchestrator_version: str | None = None
    """Version of the orchestrator."""
    hostname: str | None = None
    """The host on which the orchestrator ran."""
