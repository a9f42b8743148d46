"""Rows of others: what the file says, where it stands, and never a proof."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.exchange.imports.document import Document
from orchestrator.exchange.imports.entry import Reading
from orchestrator.exchange.imports.formats import FORMATS
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from orchestrator.exchange.imports.outcome import FileOutcome, read_document
from orchestrator.exchange.imports.record import (
    IMPORT_SCHEMA,
    contents_of,
    read_contents,
    read_runs,
    records_path,
    records_table,
    same_contents,
    save_records,
)
from orchestrator.store.schema.sources import Run
from runner.contract.errors import StoreError
from runner.contract.record.files import rows
from runner.contract.record.record import Row
from tests.orchestrator.exchange.imports.documents import json_document
from tests.orchestrator.exchange.imports.formats.legacy.samples import DIRECT

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def rows_of(*found: ImportedMeasurement, path: str = "results/a.json") -> list[Row]:
    verdict = FileOutcome(Path(path), "f" * 64, "some-format", "somebody", Reading(found))
    return rows(records_table(verdict, NOW))


def measured(**columns: object) -> ImportedMeasurement:
    return ImportedMeasurement.model_validate(
        {"location": "/", "model": "m", "status": "ok", **columns}
    )


def test_a_row_says_what_the_file_says_and_where_it_stood() -> None:
    document = json_document(DIRECT, "bert.json")
    verdict = read_document(document, FORMATS)
    first, failed = rows(records_table(verdict, NOW))
    assert (first["source"], first["source_format"]) == ("ipfs_accelerate_py", "legacy-direct")
    assert first["source_file"] == "somewhere/bert.json"
    assert first["source_sha256"] == document.sha256
    assert first["source_place"] == "/batch_results/1"
    assert first["source_measured_at"] == datetime(2025, 3, 6, 17, 45, 26, 506441, UTC)
    assert (first["proof"], first["launcher"], first["recorded_at"]) == ("none", "import", NOW)
    assert first["latency_mean_s"] == 0.003147125244140625
    assert first["durations_ns"] == [2961874, 4429817]
    assert (failed["status"], failed["latency_mean_s"]) == ("out_of_memory", None)


def test_nothing_is_filled_in() -> None:
    (row,) = rows_of(measured(throughput=5))
    told = {name for name, value in row.items() if value is not None}
    assert told == {
        *("schema_version", "run_id", "job_id", "cell_id", "recorded_at", "model", "status"),
        *("proof", "launcher", "orchestrator_version", "throughput", "simulated"),
        *("source", "source_format", "source_file", "source_sha256", "source_place"),
    }


def test_ids_are_readable_and_differ_by_place() -> None:
    one = measured(model="org/Model name", backend="cuda", batch_size=8)
    two = one.model_copy(update={"location": "/b"})
    ids = [row["cell_id"] for row in rows_of(one, two, two)]
    assert all(each.startswith("cuda-org_Model_name-8-") for each in ids)
    assert len(set(ids)) == 3
    (long,) = rows_of(measured(model="x" * 5000))
    assert len(long["cell_id"]) < 150


def test_equal_machines_and_software_have_one_id() -> None:
    machine = {"cpu_model": "A", "memory_total_bytes": 2**34}
    software = {"python_version": "3.11", "libraries": {"torch": "2", "numpy": "1"}}
    one = measured(**machine, **software)
    turned = {"libraries": {"numpy": "1", "torch": "2"}, "python_version": "3.11"}
    two = measured(model="other", **machine, **turned)
    first, second, other, bare = rows_of(one, two, measured(python_version="3.12"), measured())
    assert first["hardware_id"] == second["hardware_id"] is not None
    assert first["environment_id"] == second["environment_id"] is not None
    assert other["environment_id"] not in (first["environment_id"], None)
    assert (bare["hardware_id"], bare["environment_id"]) == (None, None)


def test_every_value_fits_its_column() -> None:
    largest = measured(batch_size=2**63 - 1, durations_ns=(2**63 - 1,), throughput=2.0**63)
    table = records_table(FileOutcome(Path("a\udcff.csv"), "f", "x", "y", Reading((largest,))), NOW)
    assert table.schema == IMPORT_SCHEMA
    assert table["batch_size"].to_pylist() == [2**63 - 1]
    assert table["source_file"].to_pylist() == ["a?.csv"]
    assert pa.types.is_timestamp(table.schema.field("source_measured_at").type)


def test_the_name_of_the_file_is_the_user_s() -> None:
    document = Document(Path("../data/a.json"), b"[]")
    assert document.path == Path("../data/a.json")
    (row,) = rows_of(measured(throughput=1), path="../data/a.json")
    assert row["source_file"] == "../data/a.json"


RUN = Run(run_id="import-1", started_at=NOW, command="orchestrator import ü", planned=3)
TABLE = records_table(read_document(json_document(DIRECT), FORMATS), NOW)


def test_what_was_written_is_read_and_says_how_it_was_imported(tmp_path: Path) -> None:
    path = records_path(tmp_path / "results", "import-1")
    assert path == tmp_path / "results/imports/import-1.parquet"
    save_records(TABLE, path, RUN)
    stored = read_contents(path)
    assert stored is not None
    assert same_contents(stored, contents_of(TABLE))
    assert [file.name for file in path.parent.iterdir()] == ["import-1.parquet"]
    assert read_runs([path]) == [RUN]


@pytest.mark.parametrize(
    "change",
    [
        lambda _: b"",
        lambda _: b"PAR1",
        lambda _: b"x" * 1000,
        lambda whole: whole[:-100],
        lambda whole: whole.replace(b"source_place", b"source_plac\xf3"),
    ],
    ids=["empty", "a mark alone", "no Parquet", "half a file", "a column whose name is no text"],
)
def test_what_cannot_be_read_is_told_as_missing(
    tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "import-1.parquet"
    assert read_contents(path) is None
    save_records(TABLE, path, RUN)
    path.write_bytes(change(path.read_bytes()))
    assert read_contents(path) is None


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file")
    with pytest.raises(StoreError, match=r"cannot be written: .* directory"):
        save_records(TABLE, records_path(tmp_path / "results", "import-1"), RUN)


def test_what_says_nothing_of_its_import_is_passed_over(tmp_path: Path) -> None:
    silent, damaged = (records_path(tmp_path, name) for name in ("silent", "x"))
    silent.parent.mkdir()
    pq.write_table(TABLE, silent)
    damaged.write_bytes(b"PAR1")
    save_records(TABLE, tmp_path / "import-1.parquet", RUN)
    assert read_runs([silent, damaged, tmp_path / "import-1.parquet"]) == []
