"""Every fault of a bundle is named, and none of them is believed."""

import hashlib
import json
import os
import random
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from orchestrator.commands.exchange.merge import merge_paths
from orchestrator.exchange.bundles.archive import write_archive
from orchestrator.exchange.bundles.check import is_bundle, open_bundle
from orchestrator.exchange.bundles.write import write_bundle
from orchestrator.store.merge.report import MergeReport
from orchestrator.store.query.ask import query
from orchestrator.store.store import Store
from runner.contract.errors import StoreError
from runner.contract.record.files import save_record, to_table
from tests.conftest import ROOT
from tests.orchestrator.exchange.bundles.conftest import RECORDS, TOLD
from tests.support.databases import content as content_of_database
from tests.support.hostile import zip_of
from tests.support.hostile_parquet import HOSTILE_FILES
from tests.support.records import RECORDED_AT, a_record

Members = dict[str, bytes]
Change = Callable[[Members], None]


def faults(bundle: Path) -> tuple[str, ...]:
    with open_bundle(bundle) as found:
        assert (found.manifest is None) == bool(found.faults)
        return found.faults


def members(bundle: Path) -> Members:
    with zipfile.ZipFile(bundle) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name != "SHA256SUMS"}


def forged(bundle: Path, change: Change) -> Path:
    """The bundle changed by somebody who mends checksums and sizes."""
    found = members(bundle)
    change(found)
    said = json.loads(found["manifest.json"])
    if "members" in said:
        said["members"] = {name: len(found[name]) for name in found if name != "manifest.json"}
        found["manifest.json"] = json.dumps(said).encode()
    path = bundle.with_name("forged.zip")
    with path.open("wb") as file:
        write_archive(file, found)
    return path


def rezipped(bundle: Path, change: Change, **how: int) -> Path:
    """The bundle changed by somebody who does not."""
    with zipfile.ZipFile(bundle) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    change(found)
    path = bundle.with_name("rezipped.zip")
    path.write_bytes(zip_of(found, **how))
    return path


def test_a_bundle_as_it_was_written_is_sound(bundle: Path) -> None:
    with open_bundle(bundle) as found:
        assert found.faults == ()
        assert found.sha256 == hashlib.sha256(bundle.read_bytes()).hexdigest()
        assert [run.run_id for run in found.runs] == [TOLD.run_id]
        assert found.runs[0].model_dump() == TOLD.model_dump()
        assert found.records is not None
        assert pq.read_metadata(found.records).num_rows == len(RECORDS) + 2


def test_the_checksums_are_those_of_sha256sum(bundle: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(tmp_path / "out")
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path / "out", check=False
    )
    assert done.returncode == 0


@pytest.mark.parametrize("length", [0, 1, 1000, -1, -30])
def test_a_part_of_a_bundle_is_none(bundle: Path, length: int) -> None:
    bundle.write_bytes(bundle.read_bytes()[:length])
    (fault,) = faults(bundle)
    assert "not a whole zip archive" in fault


def test_a_changed_byte_in_any_member_is_noticed(bundle: Path) -> None:
    whole = bundle.read_bytes()
    for name, content in members(bundle).items():
        changed = bytearray(whole)
        changed[whole.index(content) + len(content) // 2] ^= 0x55
        bundle.write_bytes(changed)
        (fault,) = faults(bundle)
        assert fault.startswith(f"{name}: is damaged: Bad CRC-32")


def outside_of_members(bundle: Path) -> list[int]:
    """The places of headers, directory and end record."""
    with zipfile.ZipFile(bundle) as archive:
        starts = {
            info.header_offset + len(info.FileHeader()): info.file_size
            for info in archive.infolist()
        }
    within = {place for start, size in starts.items() for place in range(start, start + size)}
    return [place for place in range(bundle.stat().st_size) if place not in within]


def test_a_changed_byte_outside_of_members_is_noticed(bundle: Path) -> None:
    whole, chance = bundle.read_bytes(), random.Random(1)
    for place in chance.sample(outside_of_members(bundle), 200):
        changed = bytearray(whole)
        changed[place] ^= 1 << chance.randrange(8)
        bundle.write_bytes(changed)
        assert faults(bundle), place


def between(whole: bytes, more: bytes) -> bytes:
    """The archive with more before its directory, of which the end record knows."""
    directory = int.from_bytes(whole[-6:-2], "little")
    end = whole[:-6] + (directory + len(more)).to_bytes(4, "little") + whole[-2:]
    return end[:directory] + more + end[directory:]


@pytest.mark.parametrize(
    "change",
    [
        lambda whole: whole + b"x",
        lambda whole: b"#!/bin/sh\n" + whole,
        lambda whole: whole[:-2] + b"\5\0hello",
        lambda whole: between(whole, bytes(8)),
    ],
    ids=["behind", "before", "a comment", "between"],
)
def test_nothing_stands_beside_the_members(bundle: Path, change: Callable[[bytes], bytes]) -> None:
    bundle.write_bytes(change(bundle.read_bytes()))
    (fault,) = faults(bundle)
    assert "is not byte for byte what" in fault


def test_large_archives_are_accounted_for_too(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 1000)
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 5)
    large = forged(bundle, lambda _: None)
    assert b"PK\6\6" in large.read_bytes()
    assert faults(large) == ()
    chance = random.Random(1)
    whole = large.read_bytes()
    for place in chance.sample(outside_of_members(large), 50):
        changed = bytearray(whole)
        changed[place] ^= 1 << chance.randrange(8)
        large.write_bytes(changed)
        assert faults(large), place


def test_a_bundle_that_was_packed_anew_is_refused(bundle: Path) -> None:
    (fault,) = faults(rezipped(bundle, lambda _: None))
    assert "it was packed anew" in fault


@pytest.mark.slow
def test_no_damage_is_taken_for_a_bug(bundle: Path) -> None:
    chance = random.Random(1)
    records = members(bundle)["records.parquet"]
    footer = int.from_bytes(records[-8:-4], "little") + 8
    for _ in range(10):
        changed = bytearray(records)
        changed[-chance.randrange(1, footer)] ^= 1 << chance.randrange(8)
        found = faults(forged(bundle, put("records.parquet", bytes(changed))))
        assert {fault.split(": ")[0] for fault in found} <= {"records.parquet", "manifest.json"}


def test_a_column_whose_name_is_no_text_is_a_fault(bundle: Path) -> None:
    records = members(bundle)["records.parquet"].replace(b"achieved_qps", b"achieved_qp\xf3")
    (fault,) = faults(forged(bundle, put("records.parquet", records)))
    assert fault.startswith("records.parquet: ")


def drop(name: str) -> Change:
    return lambda found: found.pop(name) and None


def put(name: str, content: bytes) -> Change:
    return lambda found: found.update({name: content})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (drop("SHA256SUMS"), ["SHA256SUMS: is missing"]),
        (drop("records.parquet"), ["records.parquet: is missing"]),
        (drop(f"matrices/{TOLD.run_id}.yaml"), [f"matrices/{TOLD.run_id}.yaml: is missing"]),
        (put("extra.txt", b""), ["extra.txt: is not in SHA256SUMS"]),
        (put("hardware.json", b"[]"), ["hardware.json: is not what its checksum says"]),
        (put("SHA256SUMS", b"nothing"), ["SHA256SUMS: is not a list of checksums"]),
        (put("SHA256SUMS", b"\xff"), ["SHA256SUMS: is not a list of checksums"]),
    ],
)
def test_what_the_checksums_say_is_checked(bundle: Path, change: Change, told: list[str]) -> None:
    assert list(faults(rezipped(bundle, change))) == told


def test_all_faults_are_named(bundle: Path) -> None:
    def change(found: Members) -> None:
        del found["runs.json"]
        found["environments.json"] += b" "
        found["extra"] = b""

    assert faults(rezipped(bundle, change)) == (
        "runs.json: is missing",
        "environments.json: is not what its checksum says",
        "extra: is not in SHA256SUMS",
    )


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../escaped", "a/../../b", "C:\\windows", "a\\b", "a//b", ".", "a/", "a\n"],
)
def test_names_that_lead_out_are_refused(bundle: Path, name: str) -> None:
    (fault,) = faults(rezipped(bundle, put(name, b"x")))
    assert "no name for a member" in fault


def test_links_are_refused(bundle: Path) -> None:
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(bundle, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    assert faults(bundle) == ("link: is not a plain file but a link or the like",)


def test_a_member_that_stands_there_twice_is_refused(bundle: Path) -> None:
    with zipfile.ZipFile(bundle, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("runs.json", "[]")
    assert faults(bundle) == ("runs.json: is in it more than once",)


def test_compressed_members_are_refused_before_they_are_read(bundle: Path) -> None:
    path = rezipped(bundle, put("bomb", bytes(10_000_000)), compression=zipfile.ZIP_DEFLATED)
    assert "bomb: is compressed; members of a bundle are stored as they are" in faults(path)


def test_members_that_claim_more_than_there_is_are_refused(bundle: Path) -> None:
    name = b"records.parquet"
    whole = bytearray(bundle.read_bytes())
    entry = whole.rindex(b"PK\x01\x02", 0, whole.rindex(name))
    whole[entry + 20 : entry + 28] = (0x7FFFFFFF).to_bytes(4, "little") * 2
    bundle.write_bytes(whole)
    assert any("claim" in fault for fault in faults(bundle))


def as_json(name: str, change: Callable[[Any], Any]) -> Change:
    def apply(found: Members) -> None:
        found[name] = json.dumps(change(json.loads(found[name]))).encode()

    return apply


def counting(**counts: int) -> Change:
    return as_json("manifest.json", lambda said: said | {"counts": said["counts"] | counts})


def saying(**facts: Any) -> Change:
    return as_json("manifest.json", lambda said: said | facts)


def in_table(change: Callable[[pa.Table], pa.Table]) -> Change:
    def apply(found: Members) -> None:
        file = BytesIO()
        pq.write_table(change(pq.read_table(BytesIO(found["records.parquet"]))), file)
        found["records.parquet"] = file.getvalue()

    return apply


def with_column(table: pa.Table, name: str, value: object) -> pa.Table:
    place = table.column_names.index(name)
    return table.set_column(place, name, pa.array([value] * table.num_rows, table.field(name).type))


ROWS = len(RECORDS) + 2
FORGERIES: Mapping[str, tuple[Change, str]] = {
    "another kind of archive": (
        saying(format="other"),
        "manifest.json: is not an AccelMatrix manifest",
    ),
    "no JSON": (put("hardware.json", b"{"), "hardware.json: line 1: is not JSON: "),
    "deep JSON": (put("hardware.json", b"[" * 100_000), "hardware.json: nested too deeply"),
    "a key twice": (
        put("hardware.json", b'[{"hardware_id": "a", "hardware_id": "b"}]'),
        "hardware.json: the key 'hardware_id' appears twice",
    ),
    "a number that is none": (
        put("artefacts.json", b'[{"facts": NaN}]'),
        "artefacts.json: NaN is not a JSON number",
    ),
    "no text": (put("hardware.json", b"\xff"), "hardware.json: is not UTF-8: "),
    "no list": (put("runs.json", b"{}"), "runs.json: is not a list of objects"),
    "a newer bundle": (saying(version=2, accelmatrix="9.9"), "is of version 2, and this"),
    "a newer bundle with other members": (
        lambda found: (saying(version=2)(found), found.pop("runs.json"))[0],
        "is of version 2, and this",
    ),
    "no version": (saying(version="one"), "manifest.json: version: "),
    "a run without its id": (
        as_json("runs.json", lambda runs: [{"described": True}]),
        "runs.json: run_id: Field required",
    ),
    "a run with a matrix elsewhere": (
        as_json("runs.json", lambda runs: [run | {"matrix": "/etc/passwd"} for run in runs]),
        "its matrix is missing",
    ),
    "a run whose id is a path": (
        as_json("runs.json", lambda runs: [*runs, runs[0] | {"run_id": "../../x", "matrix": None}]),
        "runs.json: run_id: '../../x' is a path, and no id",
    ),
    "records whose run is a path": (
        in_table(lambda table: with_column(table, "run_id", "/tmp/x")),
        "records.parquet: run_id: '/tmp/x' is a path, and no id",
    ),
    "a run twice": (as_json("runs.json", lambda runs: [*runs, runs[0]]), "stands in it twice"),
    "a seed beyond 64 bits": (
        as_json("runs.json", lambda runs: [run | {"seed": 2**63} for run in runs]),
        "runs.json: seed: ",
    ),
    "a run too few": (
        as_json("runs.json", lambda runs: [run for run in runs if run["described"]]),
        "manifest.json: counts 4 runs, and there are 1",
    ),
    "a machine too few": (put("hardware.json", b"[]"), "hardware.json: lacks "),
    "a machine without a name": (
        as_json("hardware.json", lambda rows: [row | {"hardware_id": [1]} for row in rows]),
        "hardware.json: lacks ",
    ),
    "software too little": (put("environments.json", b"[]"), "environments.json: lacks "),
    "other counts": (counting(records=1), f"manifest.json: counts 1 records, and there are {ROWS}"),
    "no Parquet": (put("records.parquet", b"PAR1"), "records.parquet: truncated or not a Parquet"),
    "other Parquet": (
        in_table(lambda table: pa.table({"a": [1]})),
        "records.parquet: a Parquet file, but not of AccelMatrix",
    ),
    "an impossible word": (
        in_table(lambda table: with_column(table, "status", "splendid")),
        "records.parquet: ",
    ),
    "records twice": (
        in_table(lambda table: pa.concat_tables([table, table])),
        f"records.parquet: {ROWS} records stand in it twice",
    ),
}


@pytest.mark.representatives(9)
@pytest.mark.parametrize("forgery", FORGERIES)
def test_what_contradicts_itself_is_no_bundle(bundle: Path, forgery: str) -> None:
    change, told = FORGERIES[forgery]
    found = faults(forged(bundle, change))
    assert any(told in fault for fault in found), found


def test_members_that_the_manifest_does_not_know_are_named(bundle: Path) -> None:
    found = members(bundle)
    found["readme.txt"] = b"hello"
    with (path := bundle.with_name("more.zip")).open("wb") as file:
        write_archive(file, found)
    assert faults(path) == ("manifest.json: lists other members than there are",)


def test_a_bundle_is_known_by_name_or_content(bundle: Path, tmp_path: Path) -> None:
    renamed = bundle.rename(tmp_path / "renamed")
    (tmp_path / "broken.zip").write_text("")
    (tmp_path / "folder.zip").mkdir()
    known = [path.name for path in sorted(tmp_path.iterdir()) if is_bundle(path)]
    assert known == ["broken.zip", renamed.name]


@pytest.mark.parametrize("name", ["nowhere.zip", "."])
def test_what_cannot_be_read_is_no_fault_but_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match="cannot be read"), open_bundle(tmp_path / name):
        pass


def test_a_pipe_is_no_bundle(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.zip")
    with (
        pytest.raises(StoreError, match="it is a FIFO, not a plain file"),
        open_bundle(tmp_path / "pipe.zip"),
    ):
        pass


FULL = """
import resource, sys
from pathlib import Path
from orchestrator.exchange.bundles.check import open_bundle
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
with open_bundle(Path(sys.argv[1])):
    pass
"""


@pytest.mark.slow
def test_a_full_temporary_folder_is_named(bundle: Path, tmp_path: Path) -> None:
    (place := tmp_path / "small").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(bundle)],
        env={**os.environ, "TMPDIR": str(place)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"{bundle}: cannot be unpacked into the temporary folder {place}: " in done.stderr
    assert "StoreError" in done.stderr
    assert list(place.iterdir()) == []


def take(bundle: Path, database: Path) -> MergeReport:
    return merge_paths([bundle], database, scratch=False)


@pytest.fixture(scope="module")
def arrived(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    database = tmp_path_factory.mktemp("arrived") / "other.duckdb"
    assert take(site / "all.zip", database) == MergeReport(inserted=ROWS)
    return database


def test_nothing_is_lost_on_the_way(database: Path, arrived: Path) -> None:
    assert content_of_database(arrived) == content_of_database(database)


def test_what_came_out_of_a_bundle_gives_the_same_bundle(
    bundle: Path, arrived: Path, tmp_path: Path
) -> None:
    again = write_bundle(arrived, (), tmp_path / "again.zip", force=False).bundle
    assert again.read_bytes() == bundle.read_bytes()


def test_merging_twice_changes_nothing(database: Path, bundle: Path) -> None:
    before = content_of_database(database)
    assert take(bundle, database) == MergeReport(unchanged=ROWS)
    assert content_of_database(database) == before


def of_another_machine(found: Members) -> None:
    in_table(lambda table: table.filter(pc.equal(table["run_id"], TOLD.run_id)))(found)
    for name, value in (("hostname", "second"), ("run_id", "second")):
        in_table(lambda table, name=name, value=value: with_column(table, name, value))(found)
    matrix = "matrices/second.yaml"
    found[matrix] = found.pop(f"matrices/{TOLD.run_id}.yaml")
    changes = {"run_id": "second", "hostname": "second", "matrix": matrix}
    as_json("runs.json", lambda runs: [run | changes for run in runs if run["described"]])(found)
    counting(runs=1, records=5)(found)


@pytest.mark.slow
def test_two_machines_become_one_database(bundle: Path, database: Path) -> None:
    assert take(forged(bundle, of_another_machine), database) == MergeReport(inserted=5)
    sql = "SELECT hostname, count(*) AS n FROM benchmark_performance GROUP BY ALL ORDER BY ALL"
    assert query(database, sql).to_pylist() == [
        {"hostname": "example-host", "n": 6},
        {"hostname": "second", "n": 4},
    ]
    sql = "SELECT run_id, hostname, matrix FROM benchmark_runs WHERE described ORDER BY run_id"
    first = {"run_id": TOLD.run_id, "hostname": TOLD.hostname, "matrix": TOLD.matrix}
    assert query(database, sql).to_pylist() == [
        first,
        first | {"run_id": "second", "hostname": "second"},
    ]


@pytest.mark.slow
def test_bundles_stand_beside_folders(bundle: Path, tmp_path: Path) -> None:
    folder = tmp_path / "more"
    folder.mkdir()
    save_record(a_record(run_id="more"), folder)
    merged = merge_paths([folder, bundle], tmp_path / "other.duckdb", scratch=False)
    assert merged.inserted == ROWS + 1


@pytest.mark.slow
def test_an_old_bundle_does_not_take_back_what_is_known_of_a_run(
    database: Path, records: Path, tmp_path: Path
) -> None:
    unfinished = TOLD.model_copy(update={"finished_at": None, "matrix": "version: 0"})
    with Store.open(tmp_path / "old.duckdb") as store:
        store.merge([records], unfinished)
    old = write_bundle(tmp_path / "old.duckdb", ["last"], tmp_path / "old.zip", force=False).bundle
    before = content_of_database(database)
    take(old, database)
    assert content_of_database(database) == before


@pytest.mark.slow
def test_a_newer_bundle_tells_of_a_runs_end_what_its_records_say(
    records: Path, tmp_path: Path
) -> None:
    unfinished = TOLD.model_copy(update={"finished_at": None, "planned": 5})
    database, newer = tmp_path / "old.duckdb", tmp_path / "new.duckdb"
    for path, folders in ((database, [records / "0"]), (newer, [records])):
        with Store.open(path) as store:
            store.merge(folders, unfinished)
    sql = f"SELECT finished_at, planned FROM benchmark_runs WHERE run_id = '{TOLD.run_id}'"
    assert query(database, sql).to_pylist() == [{"finished_at": None, "planned": 5}]
    take(write_bundle(newer, [TOLD.run_id], tmp_path / "n.zip", force=False).bundle, database)
    assert query(database, sql).to_pylist() == [{"finished_at": RECORDED_AT, "planned": 5}]


def test_a_bundle_with_a_fault_keeps_all_others_out(bundle: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.zip"
    bad.write_bytes(bundle.read_bytes()[:-100])
    other = tmp_path / "other.duckdb"
    with pytest.raises(StoreError, match=r"bad\.zip: damaged bundle: not a whole zip archive"):
        merge_paths([bundle, bad], other, scratch=False)
    assert not other.exists()


def test_who_cannot_read_a_newer_bundle_is_told_what_to_install(
    bundle: Path, tmp_path: Path
) -> None:
    newer = forged(bundle, saying(version=2, accelmatrix="9.9"))
    with pytest.raises(StoreError, match=r"version 2.*AccelMatrix 9\.9 wrote it") as caught:
        take(newer, tmp_path / "other.duckdb")
    assert caught.value.hint == "install the newer AccelMatrix that wrote it"


@pytest.mark.slow
def test_rows_of_the_fake_backend_stay_in_scratch_databases(tmp_path: Path) -> None:
    folder = tmp_path / "records"
    folder.mkdir()
    save_record(a_record(backend="fake", runtime="torch"), folder)
    with Store.open(tmp_path / "scratch.duckdb", scratch=True) as store:
        store.merge([folder])
    written = write_bundle(tmp_path / "scratch.duckdb", (), tmp_path / "s.zip", force=False)
    assert written.manifest.scratch
    report = take(written.bundle, tmp_path / "real.duckdb")
    assert (report.inserted, len(report.refused)) == (0, 1)
    merged = merge_paths([written.bundle], tmp_path / "other.duckdb", scratch=True)
    assert merged.inserted == 1


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["values that the footer denies", "nulls without end"])
def test_records_that_would_take_all_memory_are_a_fault(bundle: Path, name: str) -> None:
    content = HOSTILE_FILES[name](to_table([a_record()]))
    (fault,) = faults(forged(bundle, put("records.parquet", content)))
    assert fault.startswith("records.parquet: takes more memory to be read")


@pytest.mark.parametrize("value", ['"\\ud800"', "1" * 5_000, "[" * 100_000])
def test_json_that_no_database_takes_is_a_fault(bundle: Path, value: str) -> None:
    def change(found: Members) -> None:
        found["runs.json"] = found["runs.json"].replace(
            b'"command": "', b'"more": %s, "command": "' % value.encode(), 1
        )

    (fault,) = faults(forged(bundle, change))
    assert fault.startswith("runs.json: ")


def test_a_directory_of_too_many_members_is_not_read(tmp_path: Path) -> None:
    entries = (b"PK\1\2" + b"\0" * 24 + b"\1\0" + b"\0" * 16 + b"x") * 200_000
    end = b"PK\5\6" + b"\0" * 4 + b"\xff\xff" * 2 + len(entries).to_bytes(4, "little") + b"\0" * 6
    (path := tmp_path / "many.zip").write_bytes(entries + end)
    assert faults(path) == ("its directory has 9,400,000 bytes; at most 8,388,608 are allowed",)
