"""Questions to an open store are as harmless as `query`, even while it may be written."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from orchestrator.store.query.ask import asking, query
from orchestrator.store.store import Store
from runner.contract.errors import StoreError, UsageError
from runner.contract.record.files import save_record
from tests.orchestrator.store.conftest import Save
from tests.orchestrator.store.query.conftest import FORBIDDEN_QUESTIONS
from tests.support.records import a_record

Open = Callable[[Path], Store]
OPENINGS: dict[str, Open] = {"writing": Store.open, "reading": Store.open_readonly}
COUNT = "SELECT count(*) AS n FROM benchmark_results"
WRITE = "import sys, duckdb; duckdb.connect(sys.argv[1]).execute('CREATE TABLE mine (i INTEGER)')"
NO_PANDAS = """
import sys
from pathlib import Path
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
from runner.contract.errors import StoreError, UsageError
from orchestrator.store.store import Store
with Store.open_readonly(Path(sys.argv[1])) as store:
    try:
        store.pandas("SELECT 1 AS one")
    except StoreError as error:
        print(error, "|", error.hint)
"""


@pytest.fixture(scope="module", params=OPENINGS)
def store(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp(request.param)
    database = folder / "benchmarks.duckdb"
    for record in (a_record(batch_size=1), a_record(batch_size=8)):
        save_record(record, folder)
    with Store.open(database) as store:
        store.merge([folder])
    with OPENINGS[request.param](database) as store:
        yield store
        assert store.arrow(COUNT).to_pydict() == {"n": [2]}


@pytest.fixture(scope="module")
def word(store: Store) -> pa.Table:
    """A table that DuckDB would find by the name of a caller's variable."""
    return store.arrow("SELECT 1 AS word")


def test_an_answer_is_an_arrow_table(store: Store) -> None:
    table = store.arrow("SELECT batch_size, batch_size FROM benchmark_results ORDER BY 1")
    assert table.to_pydict() == {"batch_size": [1, 8], "batch_size_1": [1, 8]}


def test_no_question_can_write_or_read_files(
    store: Store, word: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("secret.txt", "secret.csv"):
        (tmp_path / name).write_text("word\nxyzzy\n")
    assert word.num_rows == 1
    before = _files(tmp_path)
    # a store that writes asks through a reader of its own, so representatives do
    for sql in FORBIDDEN_QUESTIONS if store.read_only else FORBIDDEN_QUESTIONS[::12]:
        message = ""
        try:
            store.arrow(sql)
        except UsageError as error:
            message = str(error)
        assert "the query" in message, sql
        assert "xyzzy" not in message, sql
        assert _files(tmp_path) == before, sql


def test_a_store_that_was_asked_can_still_be_written(
    filled: Path, results: Path, save: Save
) -> None:
    with Store.open(filled) as store:
        assert store.arrow(COUNT).to_pydict() == {"n": [2]}
        save(a_record(batch_size=16))
        assert store.merge([results]).inserted == 1
        assert store.arrow(COUNT).to_pydict() == {"n": [3]}
        with pytest.raises(StoreError, match="still in use"):
            Store.open(filled, wait_s=0)


def test_a_wrong_question_leaves_the_store_as_it_was(filled: Path) -> None:
    with Store.open(filled) as store:
        with pytest.raises(UsageError, match="benchmark_performance"):
            store.arrow("SELECT * FROM benchmark_performanc")
        assert len(list(store.records())) == 2


def test_records_are_read_to_their_end_before_a_writer_asks(filled: Path) -> None:
    with Store.open(filled) as store:
        stream = store.records()
        next(stream)
        with pytest.raises(StoreError, match="its records are being read") as caught:
            store.arrow(COUNT)
        assert "open_readonly" in str(caught.value.hint)
        assert len(list(stream)) == 1
        assert store.arrow(COUNT).num_rows == 1


def test_nobody_writes_below_a_reader_that_has_asked(filled: Path) -> None:
    with Store.open_readonly(filled) as store:
        store.arrow(COUNT)
        query(filled, COUNT)
        assert "Could not set lock" in _write(filled)
    assert _write(filled) == ""


def test_an_answer_that_is_kept_keeps_nobody_out(filled: Path) -> None:
    with asking(filled, "SELECT * FROM benchmark_results") as answer:
        assert answer.schema.names[0] == "result_id"
    with Store.open(filled, wait_s=0) as store:
        assert len(store.runs()) == 1


def test_a_reader_that_has_asked_still_takes_nothing(filled: Path, results: Path) -> None:
    with Store.open_readonly(filled) as store:
        store.arrow(COUNT)
        with pytest.raises(StoreError, match="opened read-only"):
            store.merge([results])


def test_a_data_frame_holds_the_answer(store: Store) -> None:
    sql = "SELECT batch_size, evidence FROM benchmark_results ORDER BY batch_size"
    frame = store.pandas(sql)
    assert list(frame["batch_size"]) == [1, 8]
    assert frame["evidence"][0] == {"device": "cpu", "dtype": "torch.float32"}


@pytest.mark.slow
def test_without_pandas_there_is_a_hint(filled: Path) -> None:
    command = [sys.executable, "-c", NO_PANDAS, str(filled)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "pandas is not installed here | `pip install pandas`" in done.stdout


def _files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _write(database: Path) -> str:
    command = [sys.executable, "-c", WRITE, str(database)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr
