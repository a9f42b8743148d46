"""A folder of Parquet files by the values of some columns, as data lakes lay them out."""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types

from orchestrator.errors import MatrixError
from orchestrator.nearest import did_you_mean
from orchestrator.store.reading.plain import plain_values
from orchestrator.store.reading.query import Answer

NULL = "__HIVE_DEFAULT_PARTITION__"
"""What stands for null, and for an empty text, in the name of a folder."""
_ESCAPED = re.compile(r"""[\x00-\x1f"#%'*/:=?\\\x7f{\[\]^]""")
"""What Hive and Spark escape; they read everything else as it is."""
_FILE = re.compile(r"([^/=]+=[^/]+/)*part-\d+\.parquet")

Key = tuple[object, ...]


def is_part(path: Path) -> bool:
    """Whether a file with this path below a folder is one of those that are written here."""
    return _FILE.fullmatch(path.as_posix()) is not None


def require_partitions(schema: pa.Schema, by: Sequence[str]) -> None:
    """Insist that folders can be named after these columns, and that some are left.

    Raises:
        MatrixError: it names the one that cannot.
    """
    for name in by:
        if name not in schema.names:
            raise MatrixError(
                f"--partition-by: there is no column {name!r} here"
                f"{did_you_mean(name, schema.names)}",
                hint="docs/schema.md names columns; a few make good folders, e.g. backend,model",
            )
        type_ = schema.field(name).type
        if not any(fits(type_) for fits in _NAMES_FOLDERS):
            raise MatrixError(
                f"--partition-by: {name} is {type_}, after which no folder can be named",
                hint="partition by text, whole numbers or dates, e.g. backend,model",
            )
    if len(set(by)) < len(by) or len(by) == len(schema):
        raise MatrixError(
            f"--partition-by: {','.join(by)} leaves nothing to write, or names a column twice",
            hint="partition by a few columns, e.g. backend,model",
        )


def write_partitions(answer: Answer, by: Sequence[str], folder: Path) -> int:
    """Write rows that come sorted by these columns; returns the number of files.

    The columns are in the names of the folders alone, `backend=cpu/model=gpt2/part-0.parquet`:
    readers that find them in the files too take them for others.

    Raises:
        OSError: the file system refused.
    """
    files, current = 0, None
    schema = pa.schema([field for field in answer.schema if field.name not in by])
    with ExitStack() as open_file:
        writer = None
        for key, rows in _runs(answer, by):
            if writer is None or key != current:
                open_file.close()
                path = _next_file(folder.joinpath(*map(_named, by, key)))
                writer = open_file.enter_context(_writer(path, schema))
                current, files = key, files + 1
            writer.write_batch(rows.select(schema.names))
    if not files:
        _write_none(answer.schema, folder)
    return max(files, 1)


def _write_none(schema: pa.Schema, folder: Path) -> None:
    """A file without rows, so that readers learn all columns: no folder stands for them."""
    with _writer(_next_file(folder), schema):
        pass


def _runs(answer: Answer, by: Sequence[str]) -> Iterator[tuple[Key, pa.RecordBatch]]:
    """Rows that belong together, with the values that they share."""
    for batch in answer.batches:
        columns = [plain_values(batch.schema.field(name), batch.column(name)) for name in by]
        keys = list(zip(*columns, strict=True))
        for key, places in groupby(range(len(keys)), keys.__getitem__):
            first, *rest = places
            yield key, batch.slice(first, len(rest) + 1)


def _named(name: str, value: object) -> str:
    told = NULL if value in (None, "") else str(value)
    return f"{_escaped(name)}={_escaped(told)}"


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", text)


def _next_file(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"part-{sum(1 for _ in folder.iterdir())}.parquet"


def _writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(path, schema, compression="zstd")


_NAMES_FOLDERS = (types.is_string, types.is_integer, types.is_boolean, types.is_date)
