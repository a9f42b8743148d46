"""Databases of another schema, and many connections to one."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import duckdb
import pytest

from orchestrator.store.health.copies import vacuum
from orchestrator.store.health.decisions import dated_runs, drop_runs
from orchestrator.store.health.fix import validate_database
from orchestrator.store.health.snapshots import restore_snapshot, take_snapshot
from orchestrator.store.query.ask import query
from orchestrator.store.schema.tables import STORE_VERSION
from orchestrator.store.store import Store
from runner.contract.errors import BenchError, StoreError
from runner.contract.record.files import save_record
from tests.support.records import a_record

WORKS: dict[str, Callable[[Path], object]] = {
    "write": Store.open,
    "read": Store.open_readonly,
    "tidy": vacuum,
    "list": dated_runs,
    "query": lambda path: query(path, "SELECT 1"),
    "drop": lambda path: drop_runs(path, ["run-1"]),
}


def of_schema(database: Path, version: int) -> Path:
    Store.open(database).close()
    with duckdb.connect(database) as connection:
        connection.execute("UPDATE schema_version SET version = ?", [version])
        connection.execute("ALTER TABLE benchmark_results ADD COLUMN unheard_of BIGINT")
    Path(f"{database}.lock").unlink()
    return database


@pytest.mark.representatives(4)
@pytest.mark.parametrize(
    ("version", "hint"),
    [
        (STORE_VERSION + 1, "install the AccelMatrix that wrote it"),
        (STORE_VERSION - 1, "`orchestrator database rebuild --results {folder}` makes it anew"),
    ],
    ids=["newer", "older"],
)
@pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)
def test_another_schema_is_refused_and_left_alone(
    database: Path, version: int, hint: str, work: Callable[[Path], object]
) -> None:
    before = of_schema(database, version).read_bytes()
    with pytest.raises(StoreError, match=f"has schema {version}, and this") as caught:
        work(database)
    assert hint.format(folder=database.parent) in str(caught.value.hint)
    assert database.read_bytes() == before
    names = {database.name, f"{database.name}.lock"}
    assert {path.name for path in database.parent.iterdir()} <= names


def test_it_can_be_kept_and_is_not_restored(database: Path, tmp_path: Path) -> None:
    root = tmp_path / "snapshots"
    snapshot = take_snapshot(of_schema(database, STORE_VERSION - 1), root, "theirs", None)
    for work in (
        lambda: restore_snapshot(database, root, "theirs", None),
        lambda: query(snapshot.database, "SELECT 1"),
    ):
        with pytest.raises(StoreError, match="has schema") as caught:
            work()
        assert caught.value.hint == "install the AccelMatrix that wrote it"


def test_altered_tables_are_made_anew(database: Path) -> None:
    of_schema(database, STORE_VERSION)
    with pytest.raises(StoreError, match="table benchmark_results does not have") as caught:
        Store.open(database)
    assert "orchestrator database rebuild" in str(caught.value.hint)


THREADS = 8
ROUNDS = 3
SUM = "SELECT sum(batch_size) AS n FROM benchmark_results, range(10000)"
PATIENCE_S = 60


def _ask(database: Path) -> object:
    return query(database, SUM).to_pylist()


def _open(database: Path) -> object:
    with Store.open_readonly(database) as store:
        return [run.run_id for run in store.runs()]


def _ask_the_open(database: Path) -> object:
    with Store.open_readonly(database) as store:
        return store.arrow(SUM, memory_bytes=10**9).to_pylist()


def _read(database: Path) -> object:
    with Store.open_readonly(database) as store:
        return sorted(record.batch_size or 0 for record in store.records())


def _describe(database: Path) -> object:
    with Store.open_readonly(database) as store:
        return store.coverage()


def _validate(database: Path) -> object:
    return validate_database(database).errors


WORK: tuple[Callable[[Path], object], ...] = (_ask, _open, _ask_the_open, _read, _describe)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("threads")
    for record in (a_record(batch_size=1), a_record(batch_size=8)):
        save_record(record, folder)
    with Store.open(folder / "benchmarks.duckdb") as store:
        store.merge([folder])
    return folder / "benchmarks.duckdb"


@pytest.mark.slow
@pytest.mark.parametrize(
    "work",
    [(_ask, _open), pytest.param((*WORK, _validate), marks=pytest.mark.slow)],
    ids=["two", "all"],
)
def test_all_get_the_answer_that_one_alone_gets(
    shared: Path, work: tuple[Callable[[Path], object], ...]
) -> None:
    barrier = Barrier(THREADS)

    def several(number: int) -> list[object]:
        mine, answers = work[number % len(work)], []
        for _ in range(ROUNDS):
            barrier.wait(PATIENCE_S)
            try:
                answers.append(mine(shared))
            except BenchError as error:
                answers.append(error)
        return answers

    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(several, range(THREADS)))
    assert answers == [[work[number % len(work)](shared)] * ROUNDS for number in range(THREADS)]
