"""The manifest of a snapshot."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AwareDatetime, Field, NonNegativeInt, ValidationError

from orchestrator.store.database.backup import MANIFEST
from runner.contract.cell import Frozen
from runner.contract.errors import StoreError


class Manifest(Frozen):
    """A snapshot, as it was taken."""

    name: str | None
    """The name it was given."""
    taken_at: AwareDatetime
    """Time of the copy, UTC."""
    database: Annotated[str, Field(pattern="^[^/]+$")]
    """The copied file's name, beside this one."""
    schema_version: int
    """Version of the database's tables and columns."""
    scratch: bool
    """True if it may hold rows of the fake backend."""
    size_bytes: NonNegativeInt
    """Size of the copied file."""
    sha256: str
    """Its hash, in hex."""
    rows: Mapping[str, NonNegativeInt]
    """Rows by table."""
    version: str
    """Version of AccelMatrix that took it."""
    git_commit: str | None
    """Commit of the AccelMatrix checkout, with `-dirty` behind it if it had changes."""


def read_manifest(folder: Path) -> Manifest:
    """The manifest of that snapshot.

    Raises:
        StoreError: it is missing or damaged.
    """
    try:
        return Manifest.model_validate_json((folder / MANIFEST).read_bytes())
    except (OSError, ValidationError) as error:
        raise StoreError(
            f"{folder / MANIFEST}: cannot be read: {str(error).splitlines()[0]}",
            hint="the database beside it can still be asked: `orchestrator query --database FILE`",
        ) from error
