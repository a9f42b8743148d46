"""Parquet files, read by a child process with limits.

A footer of a few bytes may declare any number of values, and pages any other: 10^8 equal values
take 78 kB, and pyarrow allocates what is declared. A file that takes too much memory, never ends or
crashes its reader costs the child, and is refused by name. Files of our own runs are no exception:
a job can leave anything where its record should be.

The child answers file by file. Where it dies, the first file without an answer is to blame, or
another program is; so that file is read once more, alone, by a new child.
"""

import atexit
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.system.memory import limited_growth
from runner.contract.errors import DamagedFile, StoreError
from runner.contract.files import STREAM_BYTES, TABLE_BYTES, open_plain, read_plain
from runner.contract.processes import python_environment

UNREADABLE = (
    *(DamagedFile, OSError, pa.ArrowException),
    *(ValueError, ArithmeticError, LookupError, TypeError, RecursionError),
)
"""Errors of reading a damaged file: ours, pyarrow's, and those of what is made of its values."""
CheckInterrupt = Callable[[], None]
"""Raises KeyboardInterrupt if the user has pressed Ctrl-C."""
Extent: TypeAlias = Literal["rows", "schema", "check"]
"""All rows; columns and metadata alone; the same once every row was decoded."""

ROWS_BYTES, ROWS_BYTES_A_BYTE = 64 << 20, 100
"""Most bytes of the rows of a file, and more for each byte of it; ours take up to 30."""
_MEMORY_BYTES, _MEMORY_BYTES_A_BYTE = 192 << 20, 3 * ROWS_BYTES_A_BYTE
"""The same of the memory that the child takes to read it."""
_VALUE_BYTES = 8
"""Bytes that each value takes at least once Python has it, nulls included."""
_CPU_S, _BYTES_A_S = 60, 1 << 20
_FOOTER_ITEMS, _FOOTER_TEXT_BYTES = 4_000, 1 << 20
"""Most columns and row groups, and bytes of a text, in a footer."""
_BATCH_ROWS = 4_096
_CHILD = (
    "import sys; sys.modules.update(numpy=None, pandas=None);"  # pyarrow starts in half the time
    f" from {__name__} import serve; serve(sys.stdin.buffer, sys.stdout.buffer)"
)
_GOING_ON = b"\n"
_AHEAD_BYTES = 1 << 20
"""Answers that the child may give before they are read: it reads on while others are merged."""


@dataclass(frozen=True)
class Read:
    """The content of a file, or its fault."""

    path: Path
    content: bytes = b""
    """Its rows as a stream of Arrow; none but the columns where no rows were asked for."""
    fault: DamagedFile | OSError | pa.ArrowInvalid | None = None

    @property
    def columns(self) -> Sequence[str]:
        names: Sequence[str] = pa.ipc.open_stream(self.content).schema.names
        return names

    def table(self) -> pa.Table:
        if self.fault is not None:
            raise self.fault
        return pa.ipc.open_stream(self.content).read_all()


def read_table(
    path: Path, columns: Sequence[str] | None = None, most_bytes: int = TABLE_BYTES
) -> pa.Table:
    """All rows of a Parquet file; raises one of `UNREADABLE`, or StoreError without a child."""
    (read,) = read_tables([path], columns, most_bytes=most_bytes)
    return read.table()


def read_schema(path: Path, *, most_bytes: int = STREAM_BYTES) -> pa.Schema:
    """The columns of a Parquet file and its metadata; raises what `read_table` does."""
    (read,) = read_tables([path], extent="schema", most_bytes=most_bytes)
    return read.table().schema


def check_rows(path: Path, check_interrupt: CheckInterrupt) -> pa.Schema:
    """The same, once all rows of a file of any size were decoded."""
    (read,) = read_tables([path], None, "check", STREAM_BYTES, check_interrupt)
    return read.table().schema


def read_tables(
    paths: Sequence[Path],
    columns: Sequence[str] | None = None,
    extent: Extent = "rows",
    most_bytes: int = TABLE_BYTES,
    check_interrupt: CheckInterrupt = lambda: None,
) -> Iterator[Read]:
    """Read files one after the other, all columns or these; only plain ones are opened."""
    question = {"columns": columns and [*columns], "extent": extent, "most_bytes": most_bytes}
    left = [*paths]
    while left:
        answered = 0
        with _child() as (child, is_new):
            for answer in _answers(child, left, question, check_interrupt):
                yield answer
                answered += 1
        if answered == len(left):
            return
        suspect = left[answered]
        if is_new and len(left) == 1:
            status = child.wait()
            end = f"signal {-status}" if status < 0 else f"exit status {status}"
            fault = DamagedFile(
                "damaged, or too large to be read within its limits: the process that read it"
                f" ended with {end}"
            )
            yield Read(suspect, fault=fault)
            return
        yield from read_tables([suspect], columns, extent, most_bytes, check_interrupt)
        left = left[answered + 1 :]


_Child: TypeAlias = "subprocess.Popen[bytes]"
_idle: list[_Child] = []


@contextmanager
def _child() -> Iterator[tuple[_Child, bool]]:
    """A child, and True if it is new; it is kept for the next question unless something failed."""
    try:
        child, is_new = _idle.pop(), False
    except IndexError:
        child, is_new = _start(), True
    try:
        yield child, is_new
    except BaseException:
        _end(child)
        raise
    if child.poll() is None:
        _idle.append(child)


def _start() -> _Child:
    """A child that says that it is ready: no file is to blame for one that is not."""
    try:
        child = subprocess.Popen(
            [sys.executable, "-P", "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pipesize=_AHEAD_BYTES,
            env={**python_environment(), "ARROW_DEFAULT_MEMORY_POOL": "system"},
        )
    except OSError as error:
        raise _not_started(error.strerror or str(error)) from error
    assert child.stdout is not None
    if child.stdout.readline() != _GOING_ON:
        _end(child)
        raise _not_started(f"it ended with exit status {child.returncode}")
    return child


def _not_started(reason: str) -> StoreError:
    return StoreError(
        f"the process that reads Parquet files does not start: {reason}",
        hint=f"see that {sys.executable} may be executed, and that memory is free",
    )


@atexit.register
def _end_idle() -> None:
    while _idle:
        _end(_idle.pop())


def _end(child: _Child) -> None:
    with suppress(PermissionError):  # a child of more rights ends with its questions
        child.kill()
    child.communicate()


def _answers(
    child: _Child,
    paths: Sequence[Path],
    question: Mapping[str, Any],
    check_interrupt: CheckInterrupt,
) -> Iterator[Read]:
    """The answers of a child, file by file; it ends early if the child dies."""
    stdin, stdout = child.stdin, child.stdout
    assert stdin is not None
    assert stdout is not None
    try:
        names = [str(path.absolute()) for path in paths]
        stdin.write(json.dumps({**question, "paths": names}).encode() + b"\n")
        stdin.flush()
        for path in paths:
            while (head := stdout.readline()) == _GOING_ON:
                check_interrupt()
            check_interrupt()
            if not head.endswith(b"\n"):
                break
            answer = json.loads(head)
            content = stdout.read(answer["bytes"])
            if len(content) < answer["bytes"]:
                break
            yield Read(path, content, _fault(answer, path))
        else:
            return
    except BrokenPipeError:
        pass
    _end(child)


def _fault(answer: Mapping[str, Any], path: Path) -> DamagedFile | OSError | pa.ArrowInvalid | None:
    if "errno" in answer:
        return OSError(answer["errno"], os.strerror(answer["errno"]), str(path))
    if "damage" in answer:
        return DamagedFile(answer["damage"])
    return pa.ArrowInvalid(answer["unreadable"]) if "unreadable" in answer else None


def serve(questions: IO[bytes], answers: IO[bytes]) -> None:
    """Answer questions until there are no more; the child's part."""
    answers.write(_GOING_ON)
    answers.flush()
    while line := questions.readline():
        question = json.loads(line)
        for path in map(Path, question.pop("paths")):
            content, fault = pa.py_buffer(b""), dict[str, Any]()
            try:
                content = _content(path, **question, answers=answers)
            except MemoryError:
                fault = {"damage": "takes more memory to be read than a file of its size may"}
            except DamagedFile as damage:
                fault = {"damage": str(damage)}
            except Exception as error:  # whatever it is, the parent tells it
                number = getattr(error, "errno", None)
                fault = {"errno": number} if number else {"unreadable": str(error)}
            answers.write(json.dumps({"bytes": content.size, **fault}).encode() + b"\n")
            answers.write(content)
            answers.flush()


def _content(
    path: Path, columns: Sequence[str] | None, extent: Extent, most_bytes: int, answers: IO[bytes]
) -> pa.Buffer:
    if extent == "rows":
        content = read_plain(path, most_bytes)
        with _limits(len(content)), _opened(pa.BufferReader(content)) as parquet:
            table = parquet.read(columns, use_threads=False)
            _require_sound(parquet.metadata, table.num_rows, table.nbytes, len(content))
            return _packed(table)
    with open_plain(path, most_bytes) as file:
        size = os.fstat(file.fileno()).st_size
        with _limits(size), _opened(pa.PythonFile(file, "r")) as parquet:
            if extent == "check":
                _check(parquet, size, answers)
            schema = parquet.schema_arrow.with_metadata(parquet.metadata.metadata)
            return _packed(schema.empty_table())


def _opened(source: pa.NativeFile) -> pq.ParquetFile:
    """The file; checksums of its pages are verified where it has them."""
    return pq.ParquetFile(
        source,
        page_checksum_verification=True,
        pre_buffer=False,
        thrift_string_size_limit=_FOOTER_TEXT_BYTES,
        thrift_container_size_limit=_FOOTER_ITEMS,
    )


@contextmanager
def _limits(size: int) -> Iterator[None]:
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = int(time.process_time()) + _CPU_S + size // _BYTES_A_S
    limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, hard))
    with limited_growth(_MEMORY_BYTES + _MEMORY_BYTES_A_BYTE * size):
        yield


def _check(parquet: pq.ParquetFile, size: int, answers: IO[bytes]) -> None:
    """Decode all rows, and tell the parent now and then that it goes on."""
    rows = bytes_ = 0
    for batch in parquet.iter_batches(_BATCH_ROWS, use_threads=False):
        batch.validate(full=True)
        rows, bytes_ = rows + batch.num_rows, bytes_ + batch.nbytes
        answers.write(_GOING_ON)
        answers.flush()
    _require_sound(parquet.metadata, rows, bytes_, size)


def _require_sound(footer: pq.FileMetaData, rows: int, bytes_: int, size: int) -> None:
    """Refuse a file whose footer lies, and rows that take the parent more memory than they may."""
    if rows != footer.num_rows:
        raise DamagedFile(f"its footer tells of {footer.num_rows:,} rows, and it has {rows:,}")
    has = bytes_ + _VALUE_BYTES * rows * (1 + footer.num_columns)
    most = ROWS_BYTES + ROWS_BYTES_A_BYTE * size
    if has > most:
        raise DamagedFile(f"holds {has:,} bytes of rows; at most {most:,} are allowed")


def _packed(table: pa.Table) -> pa.Buffer:
    content = pa.BufferOutputStream()
    with pa.ipc.new_stream(content, table.schema) as writer:
        writer.write_table(table)
    return content.getvalue()
