"""Sources of results: the run that measured them, and the origin of a record."""

from pydantic import AwareDatetime, NonNegativeInt

from orchestrator.store.schema.tables import OURS
from runner.contract.cell import Frozen


class Origin(Frozen):
    """The source of a record, and how far it can be checked."""

    source: str = OURS
    """Who measured: `accelmatrix`, the project whose file was imported, or `synthetic`."""
    source_format: str | None = None
    """The format of the imported file; null for our own records."""
    source_file: str | None = None
    """The imported file, as it was named; null likewise."""
    source_sha256: str | None = None
    """Hash of the imported file; null likewise."""
    source_place: str | None = None
    """Where in the file it stood: a JSON pointer, or a line; null likewise."""
    source_measured_at: AwareDatetime | None = None
    """When the file says that it was measured; null likewise, or where it does not say."""
    simulated: bool = False
    """Whether the source itself says that no device made the numbers."""
    marks: list[str] | None = None
    """What in an imported file says that it is simulated; null where nothing does."""
    settings: str | None = None
    """What the file says of how the work was done and no axis takes, such as `layout nhwc`: results
    that differ in it do not compare. Null where it says nothing of the kind."""
    details: dict[str, str] | None = None
    """What the file says beside that and no column takes, by its own names."""


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
    """Seed of the order of execution and of arrivals."""
    planned: NonNegativeInt | None = None
    """Cells that the plan decided to run; each of them ends with one verdict."""
    git_commit: str | None = None
    """Commit of the AccelMatrix checkout, with `-dirty` behind it if it had changes."""
    orchestrator_version: str | None = None
    """Version of the orchestrator."""
    hostname: str | None = None
    """The host on which the orchestrator ran."""
    labels: dict[str, str] | None = None
    """Labels that the user gave it by `--label`, and commit, ref and address of the CI job that it
    was part of; null without one."""
    group_id: str | None = None
    """The id that the runs of one matrix share if each class of a fleet's hosts measured it;
    null for a run that stands alone."""
