"""Snapshots are whole copies; a restore puts one in the database's place, or changes nothing."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from orchestrator.store.database.connect import wal_path
from orchestrator.store.database.open import MANIFEST
from orchestrator.store.health.snapshots import (
    Manifest,
    Snapshot,
    find_snapshot,
    list_snapshots,
    read_manifest,
    restore_snapshot,
    take_snapshot,
)
from orchestrator.store.query.ask import query
from orchestrator.store.schema.tables import STORE_VERSION
from orchestrator.store.store import Store
from runner import __version__
from runner.contract.errors import StoreError, UsageError
from tests.orchestrator.store.conftest import Save, scalar
from tests.support.databases import after, done, everything, killed, refused, script, time_of
from tests.support.records import a_record
from tests.support.siblings import siblings

IMPORT = "from orchestrator.store.health.snapshots import restore_snapshot, take_snapshot"
RESTORE = script(
    "restore_snapshot(paths[0], paths[1], arguments[2], None, 60)\nprint('restored')", IMPORT
)
RESTORE_ON_A_FULL_DISK = refused("restore_snapshot(paths[0], paths[1], 'small', None)", IMPORT)


TAKE = "print(take_snapshot(paths[0], paths[1], 'killed', None).folder.name)"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "snapshots"


@pytest.mark.slow
def test_the_database_is_as_it_was_and_what_it_was_is_kept_and_can_come_back(
    past: Snapshot, database: Path, root: Path
) -> None:
    before = everything(database)
    restored = restore_snapshot(database, root, "small", "c0ffee")
    assert everything(database) == everything(past.database)
    assert (restored.snapshot, restored.aside) == (past, None)
    assert restored.kept is not None
    assert restored.kept.manifest.name == "before-restore"
    assert restored.kept.manifest.git_commit == "c0ffee"
    assert everything(restored.kept.database) == before
    assert not list(database.parent.glob(".*"))
    restore_snapshot(database, root, "last", None)
    assert everything(database) == before
    assert len(list_snapshots(root)) == 3


def test_a_database_that_is_gone_comes_back(past: Snapshot, database: Path, root: Path) -> None:
    database.unlink()
    restored = restore_snapshot(database, root, "small", None)
    assert (restored.kept, restored.aside) == (None, None)
    assert everything(database) == everything(past.database)


def test_a_damaged_database_is_set_aside_with_its_log(
    past: Snapshot, database: Path, root: Path
) -> None:
    content = b"\xff" * database.stat().st_size
    database.write_bytes(content)
    wal_path(database).write_bytes(b"a log")
    restored = restore_snapshot(database, root, "small", None)
    assert restored.kept is None
    assert restored.aside is not None
    assert restored.aside.read_bytes() == content
    assert wal_path(restored.aside).read_bytes() == b"a log"
    assert not wal_path(database).exists()
    assert everything(database) == everything(past.database)


def test_a_snapshot_that_has_changed_is_refused(past: Snapshot, database: Path, root: Path) -> None:
    before = everything(database)
    with duckdb.connect(past.database) as connection:
        connection.execute("UPDATE benchmark_results SET throughput = 1e9")
    with pytest.raises(StoreError, match="is not as it was when it was taken") as caught:
        restore_snapshot(database, root, "small", None)
    assert "nothing was changed" in str(caught.value.hint)
    assert everything(database) == before
    assert list_snapshots(root) == [past]
    assert not list(database.parent.glob(".*"))


def test_a_snapshot_without_its_database_is_told(
    past: Snapshot, database: Path, root: Path
) -> None:
    before = everything(database)
    past.database.unlink()
    with pytest.raises(StoreError, match="cannot be restored: No such file"):
        restore_snapshot(database, root, "small", None)
    assert everything(database) == before


def test_somebody_elses_database_is_left_alone(past: Snapshot, root: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "customers.duckdb"
    with duckdb.connect(theirs) as connection:
        connection.execute("CREATE TABLE customers AS SELECT 1 AS id")
    with pytest.raises(StoreError, match="not one of AccelMatrix"):
        restore_snapshot(theirs, root, "small", None)
    assert scalar(theirs, "SELECT id FROM customers") == 1


def test_a_folder_is_left_alone(past: Snapshot, root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder.duckdb"
    folder.mkdir()
    with pytest.raises(StoreError, match="cannot be restored: Is a directory"):
        restore_snapshot(folder, root, "small", None)
    assert folder.is_dir()


def test_a_real_database_never_becomes_a_scratch_one(
    past: Snapshot, database: Path, root: Path, tmp_path: Path
) -> None:
    Store.open(tmp_path / "scratch.duckdb", scratch=True).close()
    take_snapshot(tmp_path / "scratch.duckdb", root, "scratch", None)
    with pytest.raises(StoreError, match="a real database, and the snapshot is of a scratch one"):
        restore_snapshot(database, root, "scratch", None)
    with pytest.raises(StoreError, match="a scratch database, and the snapshot is of a real one"):
        restore_snapshot(tmp_path / "scratch.duckdb", root, "small", None)


def test_a_link_stays_one(past: Snapshot, database: Path, root: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.duckdb"
    link.symlink_to(database)
    restore_snapshot(link, root, "small", None)
    assert link.is_symlink()
    assert everything(database) == everything(past.database)


def test_a_writer_is_waited_for(past: Snapshot, database: Path, root: Path) -> None:
    with Store.open(database), pytest.raises(StoreError, match="still in use"):
        restore_snapshot(database, root, "small", None, wait_s=0)


def test_a_reader_keeps_what_it_opened(past: Snapshot, database: Path, root: Path) -> None:
    with duckdb.connect(database, read_only=True) as reader:
        assert done(RESTORE, database, root, "small") == "restored\n"
        assert reader.execute("SELECT count(*) FROM benchmark_results").fetchall() == [(2,)]
    assert query(database, "SELECT 1 FROM benchmark_results").num_rows == 1


def test_a_full_disk_changes_nothing(past: Snapshot, database: Path, root: Path) -> None:
    before = everything(database)
    said = done(RESTORE_ON_A_FULL_DISK, database, root)
    assert "cannot be restored: File too large | nothing was lost" in said
    assert everything(database) == before
    assert list_snapshots(root) == [past]


@pytest.mark.slow
@pytest.mark.parametrize("moment", siblings(range(6), keep=[2]))
def test_killed_at_any_moment_it_is_one_or_the_other(
    past: Snapshot, database: Path, root: Path, moment: int
) -> None:
    before, wanted = everything(database), everything(past.database)
    incoming, inode = database.with_name(f".{database.name}.restored"), database.stat().st_ino
    usual_s = time_of(RESTORE, root.parent / "elsewhere.duckdb", root, "small")
    when: list[Callable[[], bool]] = [
        incoming.exists,
        lambda: len(list_snapshots(root)) > 1,
        lambda: database.stat().st_ino != inode,
        *(after(usual_s * step / 3) for step in range(3)),
    ]
    killed(RESTORE, database, root, "small", when=when[moment])
    assert everything(database) in (before, wanted)
    kept = [each for each in list_snapshots(root) if each.manifest.name == "before-restore"]
    assert all(everything(each.database) == before for each in kept)
    assert kept or everything(database) == before
    assert done(RESTORE, database, root, "small") == "restored\n"
    assert everything(database) == wanted
    assert not list(database.parent.glob(".*"))


def test_a_snapshot_is_a_whole_copy_that_can_be_asked_and_attached(
    filled: Path, root: Path, save: Save, results: Path
) -> None:
    taken = take_snapshot(filled, root, "before-update", "c0ffee-dirty")
    assert sorted(path.name for path in taken.folder.iterdir()) == [filled.name, MANIFEST]
    assert everything(taken.database) == everything(filled)
    manifest = taken.manifest
    assert taken.folder.name == f"{manifest.taken_at:%Y%m%d-%H%M%S}-before-update"
    assert (manifest.name, manifest.git_commit) == ("before-update", "c0ffee-dirty")
    assert (manifest.version, manifest.schema_version) == (__version__, STORE_VERSION)
    assert (manifest.database, manifest.scratch) == (filled.name, False)
    assert manifest.sha256 == hashlib.sha256(taken.database.read_bytes()).hexdigest()
    assert manifest.size_bytes == taken.database.stat().st_size
    assert manifest.rows["benchmark_results"] == manifest.rows["raw_benchmark_data"] == 2
    assert manifest.rows["benchmark_runs"] == 1
    assert Manifest.model_validate(json.loads((taken.folder / MANIFEST).read_bytes())) == manifest

    save(a_record(batch_size=16))
    with Store.open(filled) as store:
        store.merge([results])
    assert query(taken.database, "SELECT * FROM latest_results").num_rows == 2
    with duckdb.connect(filled, read_only=True) as connection:
        connection.execute(f"ATTACH '{taken.database}' AS past (READ_ONLY)")
        answer = connection.execute(
            "SELECT count(*), count(p.result_id) FROM benchmark_results"
            " LEFT JOIN past.benchmark_results p USING (result_id)"
        ).fetchall()
    assert answer == [(3, 2)]


def test_those_of_one_second_have_names_of_their_own(filled: Path, root: Path) -> None:
    names = [take_snapshot(filled, root, "a", None).folder.name for _ in range(3)]
    assert len(set(names)) == 3
    assert [each.folder.name for each in list_snapshots(root)] == names[::-1]


def test_they_are_found_by_name_by_folder_and_as_the_last(filled: Path, root: Path) -> None:
    first, other, newest = (take_snapshot(filled, root, name, None) for name in ("a", "b", "a"))
    assert find_snapshot(root, "a") == find_snapshot(root, "last") == newest
    assert find_snapshot(root, "b") == other
    assert find_snapshot(root, first.folder.name) == first


@pytest.mark.parametrize("name", ["nobody", "", "..", "../snapshots", "/"])
def test_an_unknown_one_is_told_with_those_there_are(
    past: Snapshot, tmp_path: Path, name: str
) -> None:
    for root, hint in ((tmp_path / "snapshots", "the newest are"), (tmp_path, "there is none yet")):
        with pytest.raises(UsageError, match="is not a snapshot in") as caught:
            find_snapshot(root, name)
        assert str(caught.value.hint).startswith(hint)


def test_a_name_must_suit_a_folder(filled: Path, root: Path) -> None:
    for name in ("", "last", "a/b", "..", ".hidden", "a b", "é", "a" * 65):
        with pytest.raises(UsageError, match="cannot name a snapshot"):
            take_snapshot(filled, root, name, None)
    assert not root.exists()


def test_a_damaged_manifest_is_told_and_does_not_hide_the_others(filled: Path, root: Path) -> None:
    damaged, sound = (
        take_snapshot(filled, root, "damaged", None),
        take_snapshot(filled, root, "sound", None),
    )
    (damaged.folder / MANIFEST).write_text("{")
    assert list_snapshots(root) == [sound]
    for look in (
        lambda: find_snapshot(root, damaged.folder.name),
        lambda: read_manifest(damaged.folder),
    ):
        with pytest.raises(StoreError, match=r"manifest\.json: cannot be read"):
            look()


def test_a_place_that_cannot_be_written_is_told(filled: Path, root: Path) -> None:
    root.write_text("in the way")
    with pytest.raises(StoreError, match="the snapshot cannot be written: "):
        take_snapshot(filled, root, None, None)


def test_a_full_disk_leaves_no_half_snapshot(filled: Path, root: Path) -> None:
    said = done(refused(TAKE, IMPORT), filled, root)
    assert "cannot be copied" in said
    assert "free some space on its disk" in said
    assert list(root.iterdir()) == []


@pytest.mark.slow
@pytest.mark.representatives(3)
@pytest.mark.parametrize("moment", range(6))
def test_a_killed_one_is_whole_or_not_there(filled: Path, root: Path, moment: int) -> None:
    before = everything(filled)
    copy = f".*/{filled.name}"
    conditions = [
        root.exists,
        lambda: any(root.glob(".*")),
        lambda: any(root.glob(copy)),
        lambda: any(root.glob(f".*/{MANIFEST}")),
        lambda: any(root.glob(f"[!.]*/{MANIFEST}")),
        after(0.01),
    ]
    killed(script(TAKE, IMPORT), filled, root, when=conditions[moment])
    for each in list_snapshots(root):
        assert everything(each.database) == before
    taken = take_snapshot(filled, root, "again", None)
    assert everything(taken.database) == everything(filled) == before
    assert not list(root.glob(".*"))
