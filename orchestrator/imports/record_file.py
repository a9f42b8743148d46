"""The Parquet file beside ours in which the records of one imported file lie."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.imports.content import Contents, contents_of
from orchestrator.whole_files import storing
from runner.whole_files import write_whole

FOLDER = "imports"
HINT = "mend that, then import again: no file is half written"


def path_of(results: Path, run_id: str) -> Path:
    """Where an import's records lie in the results folder."""
    return results / FOLDER / f"{run_id}.parquet"


def save(table: pa.Table, path: Path) -> None:
    """Write records, whole or not at all.

    Raises:
        StoreError: the file system refused.
    """
    with storing(path, hint=HINT):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda file: pq.write_table(table, file, compression="zstd"))


def contents_at(path: Path) -> Contents | None:
    """What the file holds; None if there is none, or none that can be read."""
    try:
        # On one thread, since a pool's thread that lets go of a buffer while Python ends aborts.
        with pa.OSFile(str(path)) as file:
            return contents_of(pq.ParquetFile(file).read(use_threads=False))
    except (OSError, KeyError, pa.ArrowException):
        return None
