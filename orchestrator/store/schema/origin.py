"""The origin of a record: columns that records of our own runners leave at their defaults."""

from pydantic import AwareDatetime

from runner.contract.cell import Frozen

OURS = "accelmatrix"
SYNTHETIC = "synthetic"


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
    """What in the file says so; null where nothing does."""
    details: dict[str, str] | None = None
    """What the file says beside that and no column takes, by its own names."""
