"""Connections: links, logs and locks; DuckDB's errors; work that Ctrl-C ends."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from orchestrator.store.database.connect import (
    duckdb_message,
    interruptible,
    store_errors,
    transaction,
    wal_path,
)
from orchestrator.store.health.copies import vacuum
from orchestrator.store.health.snapshots import take_snapshot
from orchestrator.store.query.ask import query
from orchestrator.store.store import Store
from orchestrator.system.threads import InterruptibleThread
from runner.contract.errors import StoreError
from tests.orchestrator.store.conftest import Save, scalar
from tests.support.databases import AS_NOBODY, done, script, started
from tests.support.records import a_record

MERGE_AND_STAY = script("""
store = Store.open(paths[0])
print(store.merge([paths[1]]).inserted, flush=True)
sys.stdin.readline()
""")
ASK_AS_NOBODY = script(f"""
query(paths[1], "FROM benchmark_performance")
{AS_NOBODY}
for opening in (Store.open_readonly, Store.open):
    try:
        with opening(paths[0]) as store:
            print(store.runs()[0].counts)
    except StoreError as error:
        print(error, "|", error.hint)
""")
OPENINGS: list[Callable[[Path], object]] = [
    Store.open,
    Store.open_readonly,
    vacuum,
    lambda path: query(path, "SELECT 1"),
    lambda path: take_snapshot(path, path.parent / "snapshots", None, None),
]
NAMES = ["write", "read", "tidy", "query", "snapshot"]


@pytest.mark.parametrize("opening", OPENINGS, ids=NAMES)
def test_a_link_that_leads_nowhere_is_told(
    tmp_path: Path, opening: Callable[[Path], object]
) -> None:
    link = tmp_path / "benchmarks.duckdb"
    link.symlink_to("not-mounted/benchmarks.duckdb")
    with pytest.raises(StoreError, match=r"a link to not-mounted/benchmarks\.duckdb, where"):
        opening(link)
    assert [path.name for path in tmp_path.iterdir()] == ["benchmarks.duckdb"]


def test_a_link_in_a_circle_is_told(tmp_path: Path) -> None:
    link = tmp_path / "benchmarks.duckdb"
    link.symlink_to(link)
    with pytest.raises(StoreError, match="a link to"):
        Store.open(link)


@pytest.mark.parametrize("opening", OPENINGS, ids=NAMES)
def test_a_folder_is_no_database(tmp_path: Path, opening: Callable[[Path], object]) -> None:
    folder = tmp_path / "benchmarks.duckdb"
    folder.mkdir()
    with pytest.raises(StoreError, match=r"not a database|Is a directory"):
        opening(folder)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.parquet", "a.duckdb", ":memory:"])
def test_a_file_that_is_no_database_is_told_whatever_its_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"a,b\n")
    with pytest.raises(StoreError, match="not a database that DuckDB") as caught:
        Store.open_readonly(path)
    assert "in-memory" not in str(caught.value)
    with pytest.raises(StoreError, match=r"not a database|not one of AccelMatrix"):
        Store.open(path)
    assert path.read_bytes() == b"a,b\n"


@pytest.mark.slow
def test_a_database_may_have_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, save: Save
) -> None:
    record = save(a_record())
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "a.csv", "a.parquet"):
        with Store.open(Path(name)) as store:
            assert store.merge([record]).inserted == 1
        assert scalar(tmp_path / name, "SELECT count(*) FROM benchmark_results") == 1


def test_writers_through_a_link_and_without_take_turns(tmp_path: Path) -> None:
    real, link = tmp_path / "real.duckdb", tmp_path / "link.duckdb"
    Store.open(real).close()
    link.symlink_to(real)
    with Store.open(link), pytest.raises(StoreError, match="still in use"):
        Store.open(real, wait_s=0)


def test_a_new_database_through_a_link_to_an_empty_file_leaves_the_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.duckdb", tmp_path / "link.duckdb"
    real.touch()
    link.symlink_to(real)
    Store.open(link).close()
    assert link.is_symlink()
    assert scalar(real, "SELECT count(*) FROM benchmark_results") == 0


@pytest.mark.slow
def test_what_a_killed_writer_left_in_the_log_is_there(database: Path, save: Save) -> None:
    _leave_a_log(database, save(a_record()))
    assert query(database, "SELECT count(*) AS n FROM benchmark_results").to_pylist() == [{"n": 1}]
    assert scalar(database, "SELECT count(*) FROM benchmark_performance") == 1
    Store.open(database).close()
    assert not wal_path(database).exists()
    assert scalar(database, "SELECT count(*) FROM benchmark_performance") == 1


@pytest.mark.slow
def test_a_log_that_nobody_may_empty_is_read(
    open_folder: Path, results: Path, save: Save, tmp_path: Path
) -> None:
    database = open_folder / "benchmarks.duckdb"
    _leave_a_log(database, save(a_record()))
    Store.open(tmp_path / "other.duckdb").close()
    for file in open_folder.iterdir():
        file.chmod(0o444)
    Path(f"{database}.lock").unlink()
    open_folder.chmod(0o555)
    said = done(ASK_AS_NOBODY, database, tmp_path / "other.duckdb")
    open_folder.chmod(0o755)
    first, second = said.splitlines()
    assert first == "{'ok': 1}"
    assert "cannot be written: Permission denied" in second
    assert wal_path(database).exists()


@pytest.mark.slow
def test_a_file_that_may_not_be_written_in_a_folder_that_may(
    open_folder: Path, results: Path, save: Save, tmp_path: Path
) -> None:
    database = open_folder / "benchmarks.duckdb"
    with Store.open(database) as store:
        store.merge([save(a_record())])
    Store.open(tmp_path / "other.duckdb").close()
    Path(f"{database}.lock").unlink()
    database.chmod(0o444)
    open_folder.chmod(0o777)
    first, second = done(ASK_AS_NOBODY, database, tmp_path / "other.duckdb").splitlines()
    assert first == "{'ok': 1}"
    assert "cannot be opened: Permission denied | copy it to a folder of your own" in second


def test_a_file_that_may_not_be_read(open_folder: Path, save: Save, tmp_path: Path) -> None:
    database = open_folder / "benchmarks.duckdb"
    for path in (database, tmp_path / "other.duckdb"):
        Store.open(path).close()
    database.chmod(0)
    first = done(ASK_AS_NOBODY, database, tmp_path / "other.duckdb").splitlines()[0]
    assert "cannot be opened: Permission denied" in first


def _leave_a_log(database: Path, record: Path) -> None:
    """Merge in a process that is killed before it closes the database."""
    Store.open(database).close()
    with started(MERGE_AND_STAY, database, record) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "1\n"
        os.kill(process.pid, signal.SIGKILL)
    assert wal_path(database).stat().st_size > 0


LONG_MESSAGE = "SELECT sum(hash(i)) FROM range(1000000000) AS t(i)"


@pytest.mark.slow
def test_ctrl_c_ends_a_statement(ctrl_c: Callable[[], None]) -> None:
    with duckdb.connect() as connection:
        relation = connection.sql(LONG_MESSAGE)
        ctrl_c()
        with pytest.raises(KeyboardInterrupt), store_errors("working", "never mind"):
            relation.to_arrow_reader(10)


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(RuntimeError, match="a bug"), store_errors("working", "never mind"):
        raise RuntimeError("a bug")


@pytest.mark.slow
def test_a_function_may_be_interrupted_as_a_whole(ctrl_c: Callable[[], None]) -> None:
    @interruptible()
    def ask(connection: duckdb.DuckDBPyConnection) -> None:
        relation = connection.sql(LONG_MESSAGE)
        ctrl_c()
        relation.to_arrow_reader(10)

    with duckdb.connect() as connection, pytest.raises(KeyboardInterrupt):
        ask(connection)


def test_what_a_thread_met_is_told_in_words() -> None:
    with duckdb.connect() as connection, pytest.raises(duckdb.IOException) as caught:
        connection.execute("COPY (SELECT 1) TO '/dev/full' (FORMAT parquet)")
    told = duckdb_message(caught.value)
    assert told == 'IO Error: Could not write file "/dev/full": No space left on device'


@pytest.mark.parametrize("text", ['x: {"exception_type":"IO"}', 'x: {"exception_type" and no end'])
def test_what_only_looks_like_it_is_left_alone(text: str) -> None:
    assert duckdb_message(RuntimeError(text)) == text


LONG = "SELECT sum(hash(i)) FROM range(1000000000000) AS t(i)"


def test_what_the_work_returns_and_raises_is_passed_on() -> None:
    with duckdb.connect() as connection, InterruptibleThread(connection.interrupt) as thread:
        assert thread.wait_for(lambda: connection.execute("SELECT 1").fetchall()) == [(1,)]
        with pytest.raises(duckdb.CatalogException):
            thread.wait_for(lambda: connection.execute("FROM nothing"))


def test_ctrl_c_ends_each_of_several_statements(ctrl_c: Callable[[], None]) -> None:
    def work() -> None:
        for _ in range(3):
            with pytest.raises(duckdb.InterruptException):
                connection.execute(LONG)

    with duckdb.connect() as connection, InterruptibleThread(connection.interrupt) as thread:
        ctrl_c()
        with pytest.raises(KeyboardInterrupt):
            thread.wait_for(work)


def test_ctrl_c_ends_work_between_statements_too(ctrl_c: Callable[[], None]) -> None:
    def work() -> None:
        while True:
            thread.check_interrupt()

    with duckdb.connect() as connection, InterruptibleThread(connection.interrupt) as thread:
        ctrl_c()
        with pytest.raises(KeyboardInterrupt):
            thread.wait_for(work)


def test_a_transaction_that_ctrl_c_ends_is_undone(ctrl_c: Callable[[], None]) -> None:
    def work() -> None:
        with transaction(connection):
            connection.execute("INSERT INTO kept VALUES (1)")
            connection.execute(LONG)

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE kept (number INTEGER)")
        with InterruptibleThread(connection.interrupt) as thread:
            ctrl_c()
            with pytest.raises(KeyboardInterrupt):
                thread.wait_for(work)
        assert connection.execute("FROM kept").fetchall() == []
