"""Databases for questions of every kind: made once, copied where a test changes one."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.screen.words.records import record_words
from orchestrator.store.store import Store
from runner.contract.record.files import save_record
from tests.support.data import STORE_DATA
from tests.support.records import NOISY, a_record

FORBIDDEN_QUESTIONS = (STORE_DATA / "forbidden_questions.sql").read_text("utf-8").splitlines()


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("empty") / "benchmarks.duckdb"
    Store.open(path).close()
    return path


@pytest.fixture(scope="session")
def two_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    for record in (a_record(batch_size=1), a_record(batch_size=8, doubts=[NOISY])):
        save_record(record, folder)
    with Store.open(folder / "benchmarks.duckdb") as store:
        store.merge([folder], words=record_words)
    return folder / "benchmarks.duckdb"


@pytest.fixture(scope="module")
def asked(two_results: Path) -> Iterator[Path]:
    """The same, which a reader has open already: to open it takes longer than most questions."""
    with Store.open_readonly(two_results):
        yield two_results


@pytest.fixture
def filled(two_results: Path, database: Path) -> Path:
    return Path(shutil.copy(two_results, database))
