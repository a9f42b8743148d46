"""A database as a whole: blank ones, what tests compare, and what they start and kill."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import indent

import duckdb
from duckdb import DuckDBPyConnection

from orchestrator.screen.words.records import record_words
from orchestrator.store.database.open import write_blank
from orchestrator.store.store import Store
from orchestrator.system.files import DATABASE_NAME
from runner.contract.record.files import save_record
from runner.contract.record.record import Record

PATIENCE_S = 60.0
FULL_DISK = "resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))"
AS_NOBODY = """
from orchestrator.system.parquet import read_tables
[*read_tables([Path(os.devnull)])]  # starts the reader: nobody may not read Python's library
os.setuid(65534) if os.geteuid() == 0 else None
"""
_SCRIPT = """
import os, resource, sys
from pathlib import Path
from orchestrator.store.query.ask import query
from orchestrator.store.store import Store
from runner.contract.errors import StoreError
{imports}
arguments, paths = sys.argv[1:], [Path(argument) for argument in sys.argv[1:]]
print("ready", flush=True)
sys.stdin.readline()
{first}
{work}
"""
_HOLD = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "reading")
print("holding", flush=True)
sys.stdin.read()
"""

Rows = list[tuple[object, ...]]


def write_records(folder: Path, records: Iterable[Record]) -> Path:
    """A database of these records in this folder, beside their files; all of them are merged.

    Each record has a folder of its own, since a cell may stand among them more than once.
    """
    files: list[Path] = []
    for number, record in enumerate(records):
        (folder / str(number)).mkdir()
        files.append(save_record(record, folder / str(number)))
    with Store.open(folder / DATABASE_NAME) as store:
        store.merge(files, words=record_words).require_complete()
    return folder / DATABASE_NAME


def everything(database: Path | DuckDBPyConnection) -> dict[str, Rows]:
    """All rows of all tables as text, in a fixed order of columns and rows."""
    if isinstance(database, Path):
        with duckdb.connect(database, read_only=True) as connection:
            return everything(connection)
    columns = database.execute(
        "SELECT table_name, list(column_name ORDER BY column_name) FROM duckdb_columns()"
        " JOIN duckdb_tables() USING (table_name) GROUP BY table_name ORDER BY table_name"
    ).fetchall()
    return {
        table: database.execute(
            f"SELECT {', '.join(f'{name}::VARCHAR' for name in names)} FROM {table} ORDER BY ALL"
        ).fetchall()
        for table, names in columns
    }


def content(database: Path | DuckDBPyConnection) -> dict[str, Rows]:
    """The same but for the row that says when the database was made."""
    return {name: rows for name, rows in everything(database).items() if name != "schema_version"}


def schema_of(database: Path) -> list[Rows]:
    """All columns, tables, views and constraints with their comments."""
    with duckdb.connect(database, read_only=True) as connection:
        return [
            connection.execute(f"{sql} ORDER BY ALL").fetchall()
            for sql in (
                "SELECT table_name, column_name, data_type, is_nullable, comment"
                " FROM duckdb_columns() WHERE NOT internal",
                "SELECT table_name, comment FROM duckdb_tables()",
                "SELECT view_name, sql, comment FROM duckdb_views() WHERE NOT internal",
                "SELECT table_name, constraint_text FROM duckdb_constraints()",
            )
        ]


def script(work: str, imports: str = "", first: str = "") -> str:
    """A script for `started` that works with its arguments, as texts or as paths."""
    return _SCRIPT.format(work=work, imports=imports, first=first)


def refused(work: str, imports: str = "", first: str = FULL_DISK) -> str:
    """The same for work that cannot be done: the script prints the error and its hint."""
    printed = 'except StoreError as error:\n    print(error, "|", error.hint)'
    return script(f"try:\n{indent(work, '    ')}\n{printed}", imports, first)


@contextmanager
def holding(database: Path, mode: str = "writing") -> Iterator[subprocess.Popen[str]]:
    """A process that has the database open until it is told something, or the block ends."""
    command, pipe = [sys.executable, "-c", _HOLD, str(database), mode], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "holding\n"
        yield holder


def started(script: str, *arguments: object) -> subprocess.Popen[str]:
    """A process of its own that runs this script, once it has said `ready` and been told `go`."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    if (said := process.stdout.readline()) != "ready\n":
        raise AssertionError(said + process.communicate()[1])
    process.stdin.write("go\n")
    process.stdin.flush()
    return process


def done(script: str, *arguments: object) -> str:
    """The output of the script, which must end well."""
    return _finished(script, *arguments)[0]


def time_of(script: str, *arguments: object) -> float:
    """Seconds that the script takes from `go` until it ends well."""
    return _finished(script, *arguments)[1]


def _finished(script: str, *arguments: object) -> tuple[str, float]:
    with started(script, *arguments) as process:
        began = time.monotonic()
        output, complaint = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, complaint
    return output, time.monotonic() - began


def killed(script: str, *arguments: object, when: Callable[[], bool]) -> bool:
    """Kill -9 the script when a condition is met; True if it was still running."""
    with started(script, *arguments) as process:
        deadline = time.monotonic() + PATIENCE_S
        with suppress(FileNotFoundError):  # what is looked at goes away meanwhile
            while process.poll() is None and not when():
                assert time.monotonic() < deadline
        process.send_signal(signal.SIGKILL)
    return process.returncode == -signal.SIGKILL


def after(seconds: float) -> Callable[[], bool]:
    """A moment so long after it is first asked whether it has come."""
    moments: list[float] = []

    def has_come() -> bool:
        if not moments:
            moments.append(time.monotonic() + seconds)
        return time.monotonic() >= moments[0]

    return has_come


def copy_blank(path: Path, *, scratch: bool) -> None:
    """Write what `write_blank` writes: the same for every database but for the moment."""
    path.write_bytes(_blank(scratch))


@cache
def _blank(scratch: bool) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "blank.duckdb")
        if not scratch:
            write_blank(path, scratch=False)
            return path.read_bytes()
        copy_blank(path, scratch=False)
        with duckdb.connect(path) as connection:
            connection.execute("UPDATE schema_version SET scratch = true")
        return path.read_bytes()
