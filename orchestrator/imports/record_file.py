"""The Parquet file beside ours in which the records of one imported file lie.

It says in its metadata how it was imported, so that a database can be made anew from such files.
"""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.imports.content import Contents, contents_of
from orchestrator.store import Run
from orchestrator.whole_files import storing
from runner.record import UNREADABLE, read_table
from runner.whole_files import write_whole

FOLDER = "imports"
HINT = "mend that, then import again: no file is half written"
_RUN = b"accelmatrix.run"


def path_of(results: Path, run_id: str) -> Path:
    """Where an import's records lie in the results folder."""
    return results / FOLDER / f"{run_id}.parquet"


def save(table: pa.Table, path: Path, run: Run) -> None:
    """Write records, whole or not at all, with the import that they stand under.

    Raises:
        StoreError: the file system refused.
    """
    table = table.replace_schema_metadata({_RUN: run.model_dump_json().encode()})
    with storing(path, hint=HINT):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda file: pq.write_table(table, file, compression="zstd"))


def contents_at(path: Path) -> Contents | None:
    """What the file holds; None if there is none, or none that can be read."""
    try:
        return contents_of(read_table(path))
    except UNREADABLE:
        return None


def runs_of(files: Iterable[Path]) -> list[Run]:
    """The imports that wrote these files, of those that tell."""
    found = (_run_at(file) for file in files if file.parent.name == FOLDER)
    return [run for run in found if run is not None]


def _run_at(path: Path) -> Run | None:
    try:
        run = Run.model_validate_json(pq.read_metadata(path).metadata[_RUN])
    except UNREADABLE:
        return None
    return run if run.run_id == path.stem else None
