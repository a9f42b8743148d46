"""Threads that read one database at once all get their answers, whoever makes the sandbox."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from orchestrator.store.health.fix import validate_database
from orchestrator.store.query.ask import query
from orchestrator.store.store import Store
from runner.contract.errors import BenchError
from runner.contract.record.files import save_record
from tests.support.records import a_record

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
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with two results, which nobody changes."""
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
    database: Path, work: tuple[Callable[[Path], object], ...]
) -> None:
    barrier = Barrier(THREADS)

    def several(number: int) -> list[object]:
        mine, answers = work[number % len(work)], []
        for _ in range(ROUNDS):
            barrier.wait(PATIENCE_S)
            try:
                answers.append(mine(database))
            except BenchError as error:
                answers.append(error)
        return answers

    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(several, range(THREADS)))
    assert answers == [[work[number % len(work)](database)] * ROUNDS for number in range(THREADS)]
