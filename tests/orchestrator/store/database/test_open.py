"""Older databases are brought forward whatever happens meanwhile, newer ones are left alone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from orchestrator.store import Store, query
from orchestrator.store.health.drop_runs import dated_runs, drop_runs
from orchestrator.store.health.snapshots import restore_snapshot, take_snapshot
from orchestrator.store.health.vacuum import vacuum
from orchestrator.store.schema.tables import OLDEST, STORE_VERSION
from runner.contract.errors import StoreError
from tests.orchestrator.store.conftest import scalar
from tests.support.databases import (
    AS_NOBODY,
    FULL_DISK,
    Rows,
    after,
    done,
    everything,
    killed,
    refused,
    script,
    started,
    time_of,
    unpacked,
    version_of,
)
from tests.support.siblings import siblings

OLDER = OLDEST
OPEN = script("with Store.open(paths[0], wait_s=60) as store:\n    print(len(store.runs()))")
COUNT = "SELECT count(*) AS n FROM benchmark_results"
ASK = f'print(query(paths[0], "{COUNT}", wait_s=float(arguments[1])).to_pylist())'
WARM = "query(paths[0].with_name('other.duckdb'), 'FROM benchmark_performance')"
OPEN_ON_A_FULL_DISK = refused(
    "Store.open(paths[0]).close()", first=FULL_DISK.replace("65536", "int(arguments[1])")
)


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rows]:
    """What it holds once it has been brought forward."""
    path = unpacked("benchmarks.duckdb", tmp_path_factory.mktemp("wanted"))
    Store.open(path).close()
    return everything(path)


@pytest.fixture(scope="module")
def usual_s(tmp_path_factory: pytest.TempPathFactory) -> float:
    """How long bringing it forward takes, seconds."""
    return time_of(OPEN, unpacked("benchmarks.duckdb", tmp_path_factory.mktemp("timed")))


@pytest.fixture
def newer(database: Path) -> Path:
    """A database of a version that this AccelMatrix does not know."""
    Store.open(database).close()
    with duckdb.connect(database) as connection:
        connection.execute("UPDATE schema_version SET version = version + 1")
        connection.execute("ALTER TABLE benchmark_results ADD COLUMN unheard_of BIGINT")
    Path(f"{database}.lock").unlink()
    return database


@pytest.mark.slow
def test_a_question_brings_it_forward(older: Path) -> None:
    assert query(older, COUNT).to_pylist() == [{"n": 9}]
    assert version_of(older) == STORE_VERSION


@pytest.mark.slow
def test_a_link_is_followed(older: Path, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere" / "link.duckdb"
    link.parent.mkdir()
    link.symlink_to(older)
    assert query(link, COUNT).to_pylist() == [{"n": 9}]
    assert link.is_symlink()
    assert version_of(older) == STORE_VERSION


@pytest.mark.slow
def test_two_at_once_bring_it_forward_once(older: Path) -> None:
    with started(OPEN, older) as one, started(OPEN, older) as other:
        assert [each.communicate()[0] for each in (one, other)] == ["2\n", "2\n"]
    assert version_of(older) == STORE_VERSION
    assert version_of(older.with_name(f"{older.name}.schema{OLDER}")) == OLDER


@pytest.mark.slow
@pytest.mark.parametrize("moment", siblings(range(5), keep=[2]))
def test_a_killed_migration_is_repeated(
    older: Path, wanted: dict[str, Rows], usual_s: float, moment: int
) -> None:
    killed(OPEN, older, when=after(usual_s * moment / 5))
    _assert_whole(older, wanted)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    siblings([".{name}.schema4.copy", "{name}.schema4", "{name}.wal"], keep=["{name}.schema4"]),
    ids=["copy", "kept", "log"],
)
def test_a_migration_killed_as_soon_as_a_file_appears_is_repeated(
    older: Path, wanted: dict[str, Rows], name: str
) -> None:
    file = older.with_name(name.format(name=older.name))
    killed(OPEN, older, when=file.exists)
    _assert_whole(older, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("room", ["none", "for the copy alone"])
def test_a_full_disk_leaves_it_as_it_was(older: Path, room: str) -> None:
    with duckdb.connect(older) as connection:
        connection.execute(
            "INSERT INTO raw_benchmark_data BY NAME SELECT 'bulk/' || i AS result_id,"
            " [hash(i, j) % 1000000007 FOR j IN range(50)]::BIGINT[] AS durations_ns"
            " FROM range(20000) rows(i)"
        )
    before = everything(older)
    limit = 65_536 if room == "none" else older.stat().st_size
    said = done(OPEN_ON_A_FULL_DISK, older, limit)
    assert "cannot be" in said
    assert "disk" in said
    assert version_of(older) == OLDER
    assert everything(older) == before
    assert [path.name for path in older.parent.glob(".*")] == []
    Store.open(older).close()
    assert version_of(older) == STORE_VERSION


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "folder"),
    [(0o444, 0o777), (0o666, 0o555), pytest.param(0o444, 0o555, marks=pytest.mark.slow)],
)
def test_where_nothing_may_be_written_it_says_so(open_folder: Path, file: int, folder: int) -> None:
    database = unpacked("benchmarks.duckdb", open_folder)
    Store.open(open_folder / "other.duckdb").close()
    database.chmod(file)
    with _mode(open_folder, folder):
        said = done(refused(ASK, first=f"{WARM}\n{AS_NOBODY}"), database, 1)
    assert f"has the older schema {OLDER}, and cannot be brought to {STORE_VERSION}" in said
    assert "copy it to a folder of your own" in said
    assert version_of(database) == OLDER


def test_a_reader_that_stays_is_told_of(older: Path, tmp_path: Path) -> None:
    Store.open(tmp_path / "other.duckdb").close()
    with duckdb.connect(older, read_only=True):
        said = done(refused(ASK, first=WARM), older, 0.2)
    assert "still in use by" in said
    assert "after waiting 0.2 s" in said
    assert version_of(older) == OLDER


def test_a_snapshot_stays_as_it_is(older: Path, tmp_path: Path) -> None:
    snapshot = take_snapshot(older, tmp_path / "snapshots", None, None)
    with pytest.raises(StoreError, match="has the older schema 4, and a snapshot stays") as caught:
        query(snapshot.database, "SELECT 1")
    assert "restore it, or copy" in str(caught.value.hint)
    assert version_of(snapshot.database) == OLDER


@pytest.mark.parametrize(
    "work",
    [
        Store.open,
        Store.open_readonly,
        vacuum,
        dated_runs,
        lambda path: query(path, "SELECT 1"),
        lambda path: drop_runs(path, ["run-1"]),
    ],
    ids=["write", "read", "tidy", "list", "query", "drop"],
)
def test_a_newer_database_is_left_alone(newer: Path, work: Callable[[Path], object]) -> None:
    before = newer.read_bytes()
    with pytest.raises(StoreError, match=f"has schema {STORE_VERSION + 1}, and this") as caught:
        work(newer)
    assert caught.value.hint == "install the newer AccelMatrix that wrote it"
    assert newer.read_bytes() == before
    assert {path.name for path in newer.parent.iterdir()} <= {newer.name, f"{newer.name}.lock"}


def test_a_newer_database_can_be_kept_and_restored(newer: Path, tmp_path: Path) -> None:
    root = tmp_path / "snapshots"
    take_snapshot(newer, root, "theirs", None)
    restore_snapshot(newer, root, "theirs", None)
    assert version_of(newer) == STORE_VERSION + 1


def _assert_whole(path: Path, wanted: dict[str, Rows]) -> None:
    """It can be opened, and lacks nothing."""
    assert scalar(path, "SELECT count(*) FROM benchmark_results") == 9
    Store.open(path).close()
    assert everything(path) == wanted
    kept = path.with_name(f"{path.name}.schema{OLDER}")
    assert version_of(kept) == OLDER
    assert not list(path.parent.glob(".*"))


@contextmanager
def _mode(folder: Path, mode: int) -> Iterator[None]:
    folder.chmod(mode)
    try:
        yield
    finally:
        folder.chmod(0o755)
