"""Temporary databases of what others wrote: checked like a merge, and removed afterwards."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator.commands.exchange.merge import merge_paths
from orchestrator.commands.results.sides.tables import is_record_file, is_table, read_table_file
from orchestrator.commands.results.sides.words import ALLOWED
from orchestrator.exchange.bundles import is_bundle, is_database
from orchestrator.store.health.exported import write_exported
from orchestrator.store.store import Store
from orchestrator.system.files import DATABASE_NAME, translate_os_errors
from runner.contract.errors import NothingToDo, StoreError, UsageError

_TEMPORARY = "cannot be unpacked into the temporary folder"
_HINT = "free some space on its disk, or let `TMPDIR` name another folder"


_ONE_VALUE = (
    "{} holds one value a cell: a bundle, `orchestrator export --bundle`, holds its launches too"
)


@dataclass(frozen=True)
class PathResults:
    """The results at a path, as an open database."""

    store: Store
    lacks: str | None = None
    """The sentence that says what the path does not tell, and what would; None for records."""


@contextmanager
def results_at(path: Path, *, scratch: bool) -> Iterator[PathResults]:
    """The results of a bundle, a folder, a record file, a database or an exported table.

    Args:
        path: the file or the folder, of which nothing is changed.
        scratch: True if fake and synthetic rows are welcome.
    """
    if is_bundle(path) or is_database(path):
        opened, lacks = _store_of_records(path, scratch=scratch), None
    elif is_table(path):
        opened, lacks = _store_of_table(path, scratch=scratch), _ONE_VALUE.format(path.name)
    elif path.is_dir() or is_record_file(path):
        opened, lacks = _store_of_records(path, scratch=scratch), None
    else:
        raise UsageError(f"{path}: holds no results", hint=f"a side is {ALLOWED}")
    with opened as store:
        yield PathResults(store, lacks)


@contextmanager
def _store_of_records(path: Path, *, scratch: bool) -> Iterator[Store]:
    """A database of what a merge takes.

    What cannot be believed is refused as a whole, since a cell that is left out unseen would look
    like one that was never measured.
    """
    with _database(path) as database:
        report = merge_paths([path], database, scratch=scratch, untouched=True)
        refused = replace(report, missing=(), contradicted=())
        if not refused.is_complete:
            raise StoreError(
                f"{path}: {refused.faults}",
                hint="`orchestrator merge` into a new `--database` takes the rest; name that one",
            )
        if report.is_empty:
            raise NothingToDo(f"{path}: holds no record", hint=f"a side is {ALLOWED}")
        with Store.open_readonly(database) as store:
            yield store


@contextmanager
def _store_of_table(path: Path, *, scratch: bool) -> Iterator[Store]:
    """A database of a table that an export wrote."""
    rows = read_table_file(path)
    with _database(path) as database:
        write_exported(database, rows, path, scratch=scratch)
        with Store.open_readonly(database) as store:
            yield store


@contextmanager
def _database(path: Path) -> Iterator[Path]:
    """The path of a database that is there for a while."""
    with ExitStack() as closing:
        with translate_os_errors(path, _TEMPORARY, _HINT):
            folder = closing.enter_context(TemporaryDirectory(prefix="accelmatrix-"))
        yield Path(folder, DATABASE_NAME)
