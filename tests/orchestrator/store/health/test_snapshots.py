"""A snapshot is a whole copy, or it is not there."""

import hashlib
import json
from pathlib import Path

import duckdb
import pytest

from orchestrator.errors import MatrixError, StoreError
from orchestrator.store import Store, query
from orchestrator.store.file.manifest import MANIFEST, Manifest, read_manifest
from orchestrator.store.health.snapshots import find, snapshots, take
from orchestrator.store.schema.tables import STORE_VERSION
from runner import __version__
from tests.orchestrator.store.conftest import Save
from tests.orchestrator.store.whole import after, done, everything, killed
from tests.records import a_record

TAKE = """
import sys
from pathlib import Path
from orchestrator.store.health.snapshots import take
print("ready", flush=True)
sys.stdin.readline()
print(take(Path(sys.argv[1]), Path(sys.argv[2]), "killed", None).folder.name)
"""
FULL_DISK = """
import resource, sys
from pathlib import Path
from orchestrator.errors import StoreError
from orchestrator.store.health.snapshots import take
print("ready", flush=True)
sys.stdin.readline()
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
try:
    take(Path(sys.argv[1]), Path(sys.argv[2]), None, None)
except StoreError as error:
    print(error, "|", error.hint)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "results" / "snapshots"


@pytest.fixture
def filled(database: Path, save: Save, results: Path) -> Path:
    """A database of one run with two results."""
    save(a_record(), a_record(batch_size=8))
    with Store.open(database) as store:
        store.merge([results])
    return database


def test_a_snapshot_is_a_whole_copy_with_what_identifies_it(filled: Path, root: Path) -> None:
    taken = take(filled, root, "before-update", "c0ffee-dirty")
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


def test_it_can_be_asked_and_attached(filled: Path, root: Path, save: Save, results: Path) -> None:
    taken = take(filled, root, None, None)
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
    names = [take(filled, root, "a", None).folder.name for _ in range(4)]
    assert len(set(names)) == 4
    assert [each.folder.name for each in snapshots(root)] == names[::-1]


def test_they_are_found_by_name_by_folder_and_as_the_last(filled: Path, root: Path) -> None:
    first, other, newest = (take(filled, root, name, None) for name in ("a", "b", "a"))
    assert find(root, "a") == find(root, "last") == newest
    assert find(root, "b") == other
    assert find(root, first.folder.name) == first


@pytest.mark.parametrize("name", ["nobody", "", "..", "../snapshots", "/"])
def test_an_unknown_one_is_told_with_those_there_are(filled: Path, root: Path, name: str) -> None:
    with pytest.raises(MatrixError, match="is not a snapshot in") as caught:
        find(root, name)
    assert caught.value.hint == "there is none yet"
    taken = take(filled, root, None, None)
    with pytest.raises(MatrixError) as caught:
        find(root, name)
    assert caught.value.hint == f"the newest are {taken.folder.name}"


@pytest.mark.parametrize("name", ["", "last", "a/b", "..", ".hidden", "a b", "é", "a" * 65])
def test_a_name_must_suit_a_folder(filled: Path, root: Path, name: str) -> None:
    with pytest.raises(MatrixError, match="cannot name a snapshot"):
        take(filled, root, name, None)
    assert not root.exists()


def test_a_damaged_manifest_is_told_and_does_not_hide_the_others(filled: Path, root: Path) -> None:
    damaged, sound = take(filled, root, "damaged", None), take(filled, root, "sound", None)
    (damaged.folder / MANIFEST).write_text("{")
    assert snapshots(root) == [sound]
    for look in (lambda: find(root, damaged.folder.name), lambda: read_manifest(damaged.folder)):
        with pytest.raises(StoreError, match=r"manifest\.json: cannot be read"):
            look()


def test_without_a_database_there_is_nothing_to_copy(database: Path, root: Path) -> None:
    with pytest.raises(StoreError, match="there is no database yet"):
        take(database, root, None, None)


def test_somebody_elses_database_is_not_copied(database: Path, root: Path) -> None:
    with duckdb.connect(database) as connection:
        connection.execute("CREATE TABLE customers AS SELECT 1 AS id")
    with pytest.raises(StoreError, match="not one of AccelMatrix"):
        take(database, root, None, None)
    assert list(root.iterdir()) == []


def test_a_writer_is_waited_for(filled: Path, root: Path) -> None:
    with Store.open(filled), pytest.raises(StoreError, match="still in use"):
        take(filled, root, None, None, wait_s=0)


def test_a_place_that_cannot_be_written_is_told(filled: Path, root: Path) -> None:
    root.write_text("in the way")
    with pytest.raises(StoreError, match="the snapshot cannot be written: "):
        take(filled, root, None, None)


def test_a_full_disk_leaves_no_half_snapshot(filled: Path, root: Path) -> None:
    said = done(FULL_DISK, filled, root)
    assert "cannot be copied" in said
    assert "disk not full" in said
    assert list(root.iterdir()) == []


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
    killed(TAKE, filled, root, when=conditions[moment])
    for each in snapshots(root):
        assert everything(each.database) == before
    taken = take(filled, root, "again", None)
    assert everything(taken.database) == everything(filled) == before
    assert not list(root.glob(".*"))
