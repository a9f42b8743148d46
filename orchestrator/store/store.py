"""The store: one DuckDB file with the verdicts of all runs."""

import socket
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Self

from duckdb import DuckDBPyConnection

from orchestrator.errors import StoreError
from orchestrator.store import reads, results
from orchestrator.store.connect import create, explained, is_missing, writer_lock
from orchestrator.store.forward import open_current
from orchestrator.store.merge import merge
from orchestrator.store.reads import RunSummary
from orchestrator.store.record_files import find_files
from orchestrator.store.report import MergeReport
from orchestrator.store.results import Measurement, ResultRow
from orchestrator.store.run import Run

WAIT_S = 10.0


class Store:
    """An open database; leave its context to close it."""

    def __init__(
        self,
        path: Path,
        connection: DuckDBPyConnection,
        closing: ExitStack,
        *,
        scratch: bool,
    ) -> None:
        self.path = path
        self.scratch = scratch
        """Whether rows of the fake backend are welcome here."""
        self._connection = connection
        self._closing = closing

    @classmethod
    def open(cls, path: Path, *, scratch: bool = False, wait_s: float = WAIT_S) -> Self:
        """Open a database for writing, and create it if there is none.

        A scratch database, which takes rows of the fake backend, stays one: it is never opened
        as a real database, nor the other way round.

        Raises:
            StoreError: it is in use for longer than `wait_s` seconds, not ours, of another
                schema, of the other kind, or cannot be written.
        """
        with ExitStack() as closing:
            closing.enter_context(writer_lock(path, wait_s))
            if is_missing(path):
                create(path, scratch=scratch)
            store = cls._opened(path, closing, wait_s, read_only=False)
            if store.scratch != scratch:
                raise _wrong_kind(path, scratch=store.scratch)
            store._closing = closing.pop_all()
        return store

    @classmethod
    def open_readonly(cls, path: Path, *, wait_s: float = WAIT_S) -> Self:
        """Open a database for reading, be it scratch or real.

        Raises:
            StoreError: there is none, it is being written for longer than `wait_s` seconds, it is
                not ours or has another schema.
        """
        require_database(path)
        with ExitStack() as closing:
            store = cls._opened(path, closing, wait_s, read_only=True)
            store._closing = closing.pop_all()
        return store

    @classmethod
    def _opened(cls, path: Path, closing: ExitStack, wait_s: float, *, read_only: bool) -> Self:
        connection, kind = open_current(path, read_only=read_only, wait_s=wait_s)
        closing.callback(connection.close)
        return cls(path, connection, closing, scratch=kind.scratch)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and let others at it."""
        self._closing.close()

    def merge(self, paths: Iterable[Path], *runs: Run) -> MergeReport:
        """Bring record files, and all those in folders, into the database: all or nothing.

        The newest record of a cell wins. Damaged files and rows of the fake backend are left out
        and reported; see `MergeReport.require_complete`. A run that nobody describes is inferred
        from its records.

        Raises:
            StoreError: a path does not exist, or the database cannot take the rows.
        """
        files = find_files(paths)
        with explained(
            f"{self.path}: the merge failed, and nothing was lost",
            "see that the disk is not full, then merge the same files again",
        ):
            return merge(self._connection, files, runs, scratch=self.scratch)

    def verdicts(self, run_id: str) -> Mapping[str, str]:
        """The status of each cell of this run that has a verdict, by cell id."""
        with self._reading():
            return reads.verdicts(self._connection, run_id)

    def runs(self) -> list[RunSummary]:
        """All runs, the newest first."""
        with self._reading():
            return reads.runs(self._connection)

    def history(self, hostname: str | None = None) -> Mapping[str, float]:
        """Typical wall seconds by cell id, from cells that ended well on this or that host."""
        with self._reading():
            return reads.history(self._connection, hostname or socket.gethostname())

    def results(self, run_id: str) -> list[ResultRow]:
        """The verdicts of this run, proven or not, by cell id."""
        with self._reading():
            return results.results(self._connection, run_id)

    def measurement(self, result_id: str) -> Measurement | None:
        """One verdict with what it takes to measure it again; None if it is not here."""
        with self._reading():
            return results.measurement(self._connection, result_id)

    def nearest(self, result_id: str) -> str | None:
        """The result id most like this one; None in an empty database."""
        with self._reading():
            return results.nearest(self._connection, result_id)

    def _reading(self) -> AbstractContextManager[None]:
        return explained(f"{self.path}: cannot be read", "restore it, or merge into a new one")


def require_database(path: Path) -> None:
    """Insist that there is a database.

    Raises:
        StoreError: there is none.
    """
    if is_missing(path):
        raise StoreError(
            f"{path}: there is no database yet",
            hint="measure something first: `orchestrator run matrix.yaml`",
        )


def _wrong_kind(path: Path, *, scratch: bool) -> StoreError:
    if scratch:
        return StoreError(
            f"{path}: a scratch database, which may hold rows of the fake backend",
            hint="name another file with `--database`",
        )
    return StoreError(
        f"{path}: a real database, which never takes rows of the fake backend",
        hint="name another file for the scratch database",
    )
