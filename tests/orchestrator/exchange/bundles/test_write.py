"""A bundle holds what was asked for, has the same bytes each time, and appears whole or not."""

import json
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from orchestrator.exchange.bundles.write import write_bundle
from orchestrator.store.store import Store
from runner.contract.errors import NothingToDo, StoreError, UsageError
from tests.orchestrator.exchange.bundles.conftest import RECORDS, TOLD, fill


def text(bundle: Path, name: str) -> str:
    with zipfile.ZipFile(bundle) as archive:
        return archive.read(name).decode()


def test_its_members_say_what_they_are(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        assert archive.namelist() == [
            *("SHA256SUMS", "artefacts.json", "environments.json", "hardware.json"),
            *("manifest.json", f"matrices/{TOLD.run_id}.yaml", "records.parquet", "runs.json"),
        ]
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
    assert text(bundle, f"matrices/{TOLD.run_id}.yaml") == TOLD.matrix
    assert json.loads(text(bundle, "manifest.json"))["counts"] == {
        "runs": 4,
        "records": len(RECORDS) + 2,
        "hosts": 1,
        "matrices": 1,
        "hardware": 1,
        "environments": 4,
        "artefacts": 2,
    }
    digests = {each["digest"]: each["kind"] for each in json.loads(text(bundle, "artefacts.json"))}
    assert digests == {"sha256:" + "a" * 64: "image", "sha256:" + "b" * 64: "graph"}
    (machine,) = json.loads(text(bundle, "hardware.json"))
    assert machine["cpu_flags"] == ["avx2", "fma"]
    libraries = {
        each["kernel"]: each["libraries"] for each in json.loads(text(bundle, "environments.json"))
    }
    assert libraries["5"] == {"torch": "2.13.0", "transformers": "5.0.0"}


def test_its_records_can_be_read_by_anybody(bundle: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        path = Path(archive.extract("records.parquet", tmp_path / "out"))
    found = pq.read_table(path).to_pylist()
    rows = {row["batch_size"]: row for row in found if row["source"] == "accelmatrix"}
    assert rows[1]["durations_ns"] == [2_000_000, 3_000_000, 4_000_000]
    assert rows[1]["job"] == '{"id": "as it was given"}'
    assert rows[1]["model_spec"] == '{"name": "bert-tiny"}'


@pytest.mark.slow
def test_the_same_results_give_the_same_bytes(database: Path, tmp_path: Path) -> None:
    other = fill(tmp_path / "other.duckdb", tmp_path / "elsewhere")
    both = [
        write_bundle(path, (), tmp_path / f"{path.stem}.zip", force=False)
        for path in (database, other)
    ]
    assert both[0].bundle.read_bytes() == both[1].bundle.read_bytes()
    assert both[0].sha256 == both[1].sha256


def test_a_run_can_be_taken_alone(database: Path, tmp_path: Path) -> None:
    last = write_bundle(database, ["last"], tmp_path / "last.zip", force=False)
    named = write_bundle(database, [TOLD.run_id], tmp_path / "named.zip", force=False)
    assert last.bundle.read_bytes() == named.bundle.read_bytes()
    (run,) = json.loads(text(last.bundle, "runs.json"))
    assert (run["run_id"], run["planned"], run["described"]) == (TOLD.run_id, 3, True)
    assert last.manifest.counts.records == 5
    two = write_bundle(database, [TOLD.run_id, "import-legacy"], tmp_path / "2.zip", force=False)
    assert (two.manifest.counts.runs, two.manifest.counts.records) == (2, 6)


def test_a_run_that_is_not_there_is_refused(database: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'nobody' is not a run in"):
        write_bundle(database, ["nobody"], tmp_path / "no.zip", force=False)
    assert not (tmp_path / "no.zip").exists()


def test_without_a_run_there_is_nothing_to_take_out(tmp_path: Path) -> None:
    with Store.open(tmp_path / "empty.duckdb"):
        pass
    with pytest.raises(NothingToDo, match="holds no run"):
        write_bundle(tmp_path / "empty.duckdb", (), tmp_path / "no.zip", force=False)
    with pytest.raises(StoreError, match="no database yet"):
        write_bundle(tmp_path / "none.duckdb", (), tmp_path / "no.zip", force=False)
    assert [path.name for path in tmp_path.iterdir() if "zip" in path.name] == []


def test_nothing_is_left_where_it_cannot_be_written(database: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be written"):
        write_bundle(database, (), tmp_path / "file" / "b.zip", force=False)
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.parametrize("name", ["-", "/dev/null"])
def test_an_archive_does_not_go_to_a_stream(database: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"--bundle {name}: is a stream"):
        write_bundle(database, (), Path(name), force=True)


def test_what_is_there_is_replaced_by_force_alone(database: Path, tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    path.write_text("precious")
    with pytest.raises(UsageError, match="exists already") as caught:
        write_bundle(database, (), path, force=False)
    assert "--force" in str(caught.value.hint)
    assert path.read_text() == "precious"
    write_bundle(database, (), path, force=True)
    assert zipfile.is_zipfile(path)
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(".")]
    with pytest.raises(UsageError, match="is the database itself"):
        write_bundle(database, (), database, force=True)
