"""Databases without a row are copied: to create and document every column takes 0.25 s."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator.store.database.connect import write_schema


def copy_blank(path: Path) -> None:
    """Write what `write_schema` writes, which is the same for every database."""
    path.write_bytes(_blank())


@cache
def _blank() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "blank.duckdb")
        write_schema(path)
        return path.read_bytes()
