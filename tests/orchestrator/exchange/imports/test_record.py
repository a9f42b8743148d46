"""Rows of others: what the file says, where it stands, and never a proof."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.commands.database.maintain import maintain_results
from orchestrator.commands.database.retention import RetentionPolicy
from orchestrator.commands.exchange.merge import merge_paths
from orchestrator.exchange.imports.entry import Reading
from orchestrator.exchange.imports.formats import FORMATS
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from orchestrator.exchange.imports.outcome import FileOutcome, read_document
from orchestrator.exchange.imports.record import (
    IMPORT_SCHEMA,
    contents_by_run,
    contents_of,
    is_less_informative,
    pack,
    packed_path,
    packed_runs,
    read_contents,
    read_runs,
    records_path,
    records_table,
    same_contents,
    save_records,
    take_out,
)
from orchestrator.store.schema.sources import Run
from orchestrator.store.store import Store
from runner.contract.errors import DamagedFile
from runner.contract.record.files import rows
from runner.contract.record.record import Row
from tests.orchestrator.exchange.imports.files import Place, json_document, write
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
    first, failed = rows(records_table(read_document(document, FORMATS), NOW))
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


def test_what_says_nothing_of_its_import_is_passed_over(tmp_path: Path) -> None:
    silent, damaged = (records_path(tmp_path, name) for name in ("silent", "x"))
    silent.parent.mkdir()
    pq.write_table(TABLE, silent)
    damaged.write_bytes(b"PAR1")
    save_records(TABLE, tmp_path / "import-1.parquet", RUN)
    assert read_runs([silent, damaged, tmp_path / "import-1.parquet"]) == []


EARLIER = datetime(2026, 11, 21, tzinfo=UTC)
LATER = datetime(2026, 11, 22, tzinfo=UTC)


def table(path: str = "a.json", at: datetime = LATER, **columns: object) -> pa.Table:
    values = {
        "location": "/",
        "model": "m",
        "status": "ok",
        "throughput": 5,
        "libraries": {"a": "1"},
    }
    found = ImportedMeasurement.model_validate(values | columns)
    return records_table(FileOutcome(Path(path), "f", "x", "y", Reading((found,))), at)


def test_time_and_name_of_the_file_do_not_matter() -> None:
    one, two = contents_of(table()), contents_of(table("b.json", EARLIER))
    assert same_contents(one, two)
    assert {each.recorded_at for each in one.values()} == {LATER}
    assert {each.recorded_at for each in two.values()} == {EARLIER}


def test_every_other_value_does() -> None:
    changes = [
        {"throughput": 5.000000000000001},
        {"simulated": True, "marks": ("/mock: true",)},
        {"measured_at": LATER},
        {"details": {"note": "x"}},
        {"libraries": {"a": "2"}},
        {"durations_ns": (1, 2)},
        {"status": "failed", "reason": "x"},
    ]
    sums = [frozenset(each.sha for each in contents_of(table()).values())]
    sums += [frozenset(each.sha for each in contents_of(table(**c)).values()) for c in changes]
    assert len(set(sums)) == len(changes) + 1


def test_lists_and_maps_that_hold_nothing_are_null() -> None:
    one = table(libraries={})
    index = one.schema.get_field_index("libraries")
    empty = pa.array([[]], one.schema.field(index).type)
    assert same_contents(contents_of(one), contents_of(one.set_column(index, "libraries", empty)))


def test_rows_of_several_runs_are_kept_apart() -> None:
    one, two = table(), table(throughput=6)
    index = two.schema.get_field_index("run_id")
    other = two.set_column(index, "run_id", pa.array(["import-2"]))
    found = contents_by_run(pa.concat_tables([one, other]))
    assert same_contents(found[one["run_id"][0].as_py()], contents_of(one))
    assert same_contents(found["import-2"], contents_of(other))


def test_of_two_names_one_can_tell_less() -> None:
    bare, full = contents_of(table("copy.csv")), contents_of(table("full.csv", precision="amp"))
    assert is_less_informative(bare, full)
    assert not is_less_informative(full, bare)
    assert not is_less_informative(bare, {})
    assert not is_less_informative(bare, contents_of(table("other.csv")))
    assert not is_less_informative(contents_of(table("full.csv")), full)


EVERYTHING = "SELECT * FROM benchmark_results ORDER BY result_id"
RUNS = "SELECT run_id, command, matrix_path FROM benchmark_runs ORDER BY run_id"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = Place(tmp_path_factory.mktemp("imported"))
    for number in range(6):
        write(place.sources / f"direct{number}.json", DIRECT | {"model": f"model-{number}"})
    place.import_files()
    return place.sources.parent


@pytest.fixture
def packing(imported: Path, tmp_path: Path) -> Place:
    return Place(shutil.copytree(imported, tmp_path, dirs_exist_ok=True))


def stored_rows(database: Path, question: str = EVERYTHING) -> list[dict[str, object]]:
    with Store.open_readonly(database) as store:
        return store.arrow(question).to_pylist()


def single_files(packing: Place) -> list[Path]:
    return sorted(packed_path(packing.results).parent.glob("import-*.parquet"))


@pytest.mark.slow
def test_packed_records_say_the_same_and_take_a_part_of_the_room(packing: Place) -> None:
    before, runs = stored_rows(packing.database), stored_rows(packing.database, RUNS)
    done = pack(packing.results)
    assert done
    assert done.files == 6
    assert done.bytes_after
    assert done.bytes_after < done.bytes_before / 4
    assert single_files(packing) == []
    packing.database.unlink()
    merge_paths([packing.results], packing.database, scratch=False).require_complete()
    assert stored_rows(packing.database) == before
    assert stored_rows(packing.database, RUNS) == runs
    assert pack(packing.results) is None


def test_what_is_packed_is_known_and_a_change_takes_it_out(packing: Place) -> None:
    pack(packing.results)
    content = packed_path(packing.results).read_bytes()
    assert packing.import_files().there == len(stored_rows(packing.database))
    assert packed_path(packing.results).read_bytes() == content
    names = {run.run_id for run in packed_runs(packed_path(packing.results))}
    write(packing.sources / "direct9.json", DIRECT | {"model": "another"})
    packing.import_files()
    (fresh,) = single_files(packing)
    assert fresh.stem not in names
    assert pack(packing.results)
    assert {run.run_id for run in packed_runs(packed_path(packing.results))} == {*names, fresh.stem}


def test_one_is_taken_out_whole_and_the_last_leaves_nothing_behind(packing: Place) -> None:
    before = stored_rows(packing.database)
    pack(packing.results)
    runs = [run.run_id for run in packed_runs(packed_path(packing.results))]
    for number, run_id in enumerate(runs, 1):
        assert take_out(packing.results, run_id) == records_path(packing.results, run_id)
        assert len(packed_runs(packed_path(packing.results))) == len(runs) - number
    assert not packed_path(packing.results).exists()
    assert take_out(packing.results, runs[0]) is None
    packing.database.unlink()
    merge_paths([packing.results], packing.database, scratch=False).require_complete()
    assert stored_rows(packing.database) == before


def test_maintenance_packs_imports_and_drops_one_of_them(packing: Place) -> None:
    dry = maintain_results(packing.results, packing.database, compacting=True, dry_run=True)
    assert [(one.run_id, one.compaction.bytes_after) for one in dry.compact] == [("imports", None)]
    assert len(single_files(packing)) == 6
    maintain_results(packing.results, packing.database, compacting=True)
    runs = [run.run_id for run in packed_runs(packed_path(packing.results))]
    policy = RetentionPolicy(named=[runs[0]])
    maintain_results(packing.results, packing.database, policy)
    assert [run.run_id for run in packed_runs(packed_path(packing.results))] == runs[1:]
    assert single_files(packing) == []
    assert {row["run_id"] for row in stored_rows(packing.database)} == {*runs[1:]}


def test_a_damaged_packed_file_is_named_and_stays(packing: Place) -> None:
    pack(packing.results)
    packed = packed_path(packing.results)
    packed.write_bytes(packed.read_bytes()[:-200])
    content = packed.read_bytes()
    write(packing.sources / "direct9.json", DIRECT | {"model": "another"})
    with pytest.raises(DamagedFile, match=r"packed\.parquet: cannot be read"):
        packing.import_files()
    with pytest.raises(DamagedFile, match=r"packed\.parquet: cannot be read"):
        take_out(packing.results, "import-0")
    assert packed.read_bytes() == content
