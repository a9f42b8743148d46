"""The store: one DuckDB file with the verdicts of all runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar, Unpack

from duckdb import DuckDBPyConnection

from analysis.results.row import ResultRow
from analysis.results.trust import Neighbour
from orchestrator.store.database.connect import (
    WAIT_S,
    connect,
    is_missing,
    require_database,
    store_errors,
    writer_lock,
)
from orchestrator.store.database.open import create, open_current
from orchestrator.store.query import results, runs
from orchestrator.store.query.results import CellSpeed, MeasuredBefore, Measurement
from orchestrator.store.query.runs import RunSummary
from orchestrator.store.query.state import Coverage, Doubtful, Installation, coverage, doubtful
from orchestrator.system.files import REMEDY
from orchestrator.system.threads import InterruptibleThread
from runner.contract.errors import StoreError

if TYPE_CHECKING:
    import pyarrow as pa
    from pandas import DataFrame

    from orchestrator.store.merge.expected import ExpectedRecords
    from orchestrator.store.merge.merge import LeaveOut, WriteWords
    from orchestrator.store.merge.report import MergeReport
    from orchestrator.store.query.ask import QuestionLimits
    from orchestrator.store.query.filters import Filters
    from orchestrator.store.query.records import Records, RecordStream, StoredRecord
    from orchestrator.store.query.whole_runs import StoredRun
    from orchestrator.store.schema.sources import Run
    from runner.contract.job import ProcessSpread


_Parameters = ParamSpec("_Parameters")
_Answer = TypeVar("_Answer")


class Store:
    """An open database; leave its context to close it."""

    def __init__(
        self,
        path: Path,
        connection: DuckDBPyConnection,
        closing: ExitStack,
        *,
        scratch: bool,
        read_only: bool,
    ) -> None:
        self.path = path
        self.scratch = scratch
        """True if it takes fake and synthetic rows."""
        self.read_only = read_only
        self._connection = connection
        self._closing = closing
        self._streams: list[RecordStream] = []

    @classmethod
    def open(cls, path: Path, *, scratch: bool = False, wait_s: float = WAIT_S) -> Self:
        """Open a database for writing, and create it if there is none; a scratch one stays one."""
        with ExitStack() as closing:
            closing.enter_context(writer_lock(path, wait_s))
            if is_missing(path):
                create(path, scratch=scratch)
            store = cls._opened(path, closing, wait_s, read_only=False)
            if store.scratch != scratch:
                kind = "real database, which never takes"
                if store.scratch:
                    kind = "scratch database, which may hold"
                raise StoreError(
                    f"{path}: a {kind} fake and synthetic rows",
                    hint="name another file with `--database`",
                )
            store._closing = closing.pop_all()
        return store

    @classmethod
    def open_readonly(cls, path: Path, *, wait_s: float = WAIT_S) -> Self:
        require_database(path)
        with ExitStack() as closing:
            store = cls._opened(path, closing, wait_s, read_only=True)
            store._closing = closing.pop_all()
        return store

    @classmethod
    def _opened(cls, path: Path, closing: ExitStack, wait_s: float, *, read_only: bool) -> Self:
        connection, kind = open_current(path, read_only=read_only, wait_s=wait_s)
        store = cls(path, connection, closing, scratch=kind.scratch, read_only=read_only)
        closing.callback(store._let_go)
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and let others at it; records that were not read are lost."""
        for stream in self._streams:
            stream.close()
        self._closing.close()

    def merge(
        self,
        paths: Iterable[Path],
        *runs: Run,
        words: WriteWords | None = None,
        expected: ExpectedRecords | None = None,
        elsewhere: bool = False,
        keep: bool = False,
    ) -> MergeReport:
        """Bring record files, and all those in folders, into the database: all or nothing.

        The newest record of a cell wins. Damaged files, records that no measurement can have
        given, fake and synthetic rows are left out and reported; see
        `MergeReport.require_complete`. So are records that are not the `expected` ones, if such are
        named. A run that nobody describes is inferred from its records. `words` makes the columns
        `reason`, `remedy`, `correct_reason` and `grade_reasons`; without it codes stand there.
        Files from `elsewhere` replace no measurement of ours; `keep` copies what is taken into a
        file beside the database.
        """
        from orchestrator.store.health.incoming import leave_out_impossible
        from orchestrator.store.merge.expected import leave_out_strangers
        from orchestrator.store.merge.merge import Admission, merge_files, write_codes
        from orchestrator.store.records.find import find_files

        if self.read_only:
            raise StoreError(f"{self.path}: was opened read-only", hint="use `Store.open`")
        files = find_files(paths)
        refusals: list[LeaveOut] = [leave_out_impossible]
        if expected is not None:
            refusals.insert(0, lambda connection, _: leave_out_strangers(connection, expected))
        with (
            store_errors(
                f"{self.path}: the merge failed, and nothing was lost",
                f"{REMEDY}, then merge the same files again",
            ),
            InterruptibleThread(self._connection.interrupt) as thread,
        ):
            return thread.wait_for(
                lambda: merge_files(
                    self._connection,
                    files,
                    runs,
                    Admission(
                        *(self.scratch, elsewhere, refusals, self.path if keep else None),
                        words=words or write_codes,
                    ),
                    thread.check_interrupt,
                )
            )

    def imported(self, run_ids: Sequence[str]) -> pa.Table:
        """The rows of these imports, under the columns of record files."""
        from orchestrator.store.query.whole_runs import imported_rows

        return self._answer(imported_rows, run_ids)

    def forget(self, result_ids: Sequence[str]) -> None:
        from orchestrator.store.query.whole_runs import forget

        with store_errors(f"{self.path}: nothing was removed", REMEDY):
            forget(self._connection, result_ids)

    def verdicts(self, run_id: str) -> Mapping[str, str]:
        """The status of each cell of this run that has a verdict, by cell id."""
        return self._answer(runs.verdicts, run_id)

    def ended(self, run_id: str) -> frozenset[str]:
        """The cells of this run with a verdict, in quarantine or not."""
        return self._answer(runs.ended, run_id)

    def runs(self) -> list[RunSummary]:
        """All runs, the newest first."""
        return self._answer(runs.runs)

    def described_runs(self) -> Mapping[str, StoredRun]:
        """All that is known of each run, by its id, the newest first."""
        from orchestrator.store.query.whole_runs import stored_runs

        return self._answer(stored_runs)

    def history(self, host: str) -> Mapping[str, CellSpeed]:
        return self._answer(results.history, host)

    def process_spreads(
        self, host: str, hostname: str, run_ids: Sequence[str]
    ) -> dict[str, ProcessSpread]:
        """The spreads of launches in these runs of this host, by path and device."""
        return self._answer(results.process_spreads, host, hostname, run_ids)

    def results(self, run_id: str) -> list[ResultRow]:
        """The verdicts of this run, proven or not, by cell id."""
        return self._answer(results.results, run_id)

    def neighbours(self, run_id: str, *, later: bool = False) -> list[Neighbour]:
        """The last results of the same series before this run that can be quoted, or the next."""
        return self._answer(results.neighbours, run_id, later=later)

    def measured_before(
        self, wanted: Mapping[str, tuple[str, str]], host: str, launcher: str
    ) -> MeasuredBefore | None:
        """The newest run here that measured some of these: model id and profile by cell id."""
        return self._answer(results.measured_before, wanted, host, launcher)

    def command_of(self, run_id: str) -> str | None:
        return self._answer(runs.command_of, run_id)

    def measurement(self, result_id: str) -> Measurement | None:
        """One verdict with what it takes to measure it again; None if it is not here."""
        return self._answer(results.measurement, result_id)

    def nearest(self, result_id: str) -> str | None:
        """The result id that may be meant by this one, or by a cell's id; None without any."""
        return self._answer(results.nearest, result_id)

    def records(
        self, *, trusted: bool = True, whole: bool = False, **filters: Unpack[Filters]
    ) -> Iterator[StoredRecord]:
        """Results as values, in base units; they are read as they are asked for.

        Trusted ones are those of the view `benchmark_performance`; `trusted=False` gives every
        verdict, proven or not, ours or imported. `whole=True` reads raw durations and jobs too.
        """
        from orchestrator.store.query.filters import selected_ids
        from orchestrator.store.query.records import RecordStream

        wanted = self._answer(selected_ids, filters, trusted=trusted)
        stream = RecordStream(self._read(wanted, whole=whole))
        self._streams.append(stream)
        return stream

    def condition(
        self, *, trusted: bool = True, as_options: bool = False, **filters: Unpack[Filters]
    ) -> str:
        """These filters as a condition on `benchmark_performance`; raises what `records` does."""
        from orchestrator.store.query.filters import condition

        return self._answer(condition, filters, trusted=trusted, as_options=as_options)

    def coverage(self) -> Coverage:
        return self._answer(coverage)

    def doubtful(self, installed: Installation) -> Doubtful:
        return self._answer(doubtful, installed)

    def arrow(self, sql: str, **limits: Unpack[QuestionLimits]) -> pa.Table:
        """The answer to one question in SQL, on a connection that can only read this file."""
        from orchestrator.store.query.ask import query_checked

        if self.read_only:
            return query_checked(self.path, sql, **limits)
        if any(stream.is_reading for stream in self._streams):
            raise StoreError(
                f"{self.path}: its records are being read",
                hint="read them to their end first, or open the store with `open_readonly`",
            )
        self._let_go()  # except for the lock that keeps other writers away
        try:
            return query_checked(self.path, sql, **limits)
        finally:
            self._connection = connect(self.path, read_only=False, wait_s=WAIT_S)

    def pandas(self, sql: str, **limits: Unpack[QuestionLimits]) -> DataFrame:
        from orchestrator.store.query.records import to_pandas

        return to_pandas(self.arrow(sql, **limits))

    def _read(self, wanted: str, *, whole: bool) -> Records:
        from orchestrator.store.query.records import read

        with self._reading():
            yield from read(self._connection, wanted, whole=whole)

    def _answer(
        self,
        question: Callable[Concatenate[DuckDBPyConnection, _Parameters], _Answer],
        *parameters: _Parameters.args,
        **options: _Parameters.kwargs,
    ) -> _Answer:
        with self._reading():
            return question(self._connection, *parameters, **options)

    def _let_go(self) -> None:
        self._connection.close()

    def _reading(self) -> AbstractContextManager[None]:
        return store_errors(f"{self.path}: cannot be read", "restore it, or merge into a new one")
