"""Records of others go beside ours and into the database, each once."""

import copy
import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest

from orchestrator.commands.exchange.merge import merge_paths
from orchestrator.exchange.imports.document import Document
from orchestrator.exchange.imports.formats import FORMATS
from orchestrator.exchange.imports.formats.mapping import MappedFormat
from orchestrator.exchange.imports.importing import (
    ImportReport,
    compare_contents,
    import_files,
    preview_import,
    set_import_times,
)
from orchestrator.exchange.imports.outcome import read_document, read_files
from orchestrator.exchange.imports.record import RowContent
from orchestrator.store.schema.sources import Run
from orchestrator.store.store import Store
from runner.contract.errors import StoreError
from tests.orchestrator.exchange.imports.files import LATER, TABLE, Place, write
from tests.orchestrator.exchange.imports.formats.legacy.samples import DIRECT, MODELS
from tests.orchestrator.exchange.imports.test_strangers import SAMPLES, mutated
from tests.support.properties import try_examples

SIMULATED = {**copy.deepcopy(DIRECT), "model": "other", "is_simulated": True}
EVERYTHING = "SELECT * EXCLUDE (recorded_at) FROM benchmark_results ORDER BY result_id"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return a_place(tmp_path)


@pytest.fixture(scope="module")
def first_import(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = a_place(tmp_path_factory.mktemp("imported"))
    assert counts(place.import_files()) == (6, 0, 0, 0)
    return place.sources.parent


@pytest.fixture
def imported(first_import: Path, tmp_path: Path) -> Place:
    return Place(shutil.copytree(first_import, tmp_path, dirs_exist_ok=True))


def a_place(folder: Path) -> Place:
    place = Place(folder)
    write(place.sources / "direct.json", DIRECT)
    write(place.sources / "simulated.json", SIMULATED)
    write(place.sources / "timm.csv", TABLE)
    write(place.sources / "models.json", MODELS)
    return place


def counts(done: ImportReport) -> tuple[int, int, int, int]:
    return done.added, done.replaced, done.there, done.gone


def test_records_go_beside_ours_and_into_the_database(imported: Place) -> None:
    assert len(imported.files()) == 3
    found = imported.ask(
        "SELECT source, count(*) AS n FROM benchmark_results GROUP BY 1 ORDER BY 1"
    )
    assert found == [
        {"source": "ipfs_accelerate_py", "n": 4},
        {"source": "pytorch-image-models", "n": 2},
    ]


def test_no_default_view_shows_them(imported: Place) -> None:
    for view in ("benchmark_performance", "latest_results", "failures", "compatibility", "history"):
        assert imported.ask(f"SELECT * FROM {view}") == []
    models = imported.ask("SELECT DISTINCT model FROM imported_results ORDER BY 1")
    assert [row["model"] for row in models] == ["prajjwal1/bert-tiny", "resnet50", "tinynet_e"]
    failed = imported.ask("SELECT status, simulated FROM failures_all ORDER BY simulated")
    assert [(row["status"], row["simulated"]) for row in failed] == [
        ("out_of_memory", False),
        ("out_of_memory", True),
    ]


def test_importing_twice_adds_nothing_even_under_another_name(imported: Place) -> None:
    before = {file: file.stat().st_mtime_ns for file in imported.files()}
    content = imported.table()
    runs = imported.table("benchmark_runs")
    assert counts(imported.import_files()) == (0, 0, 6, 0)
    assert {file: file.stat().st_mtime_ns for file in imported.files()} == before
    assert imported.table() == content
    assert imported.table("benchmark_runs") == runs

    (imported.sources / "timm.csv").rename(imported.sources / "renamed.csv")
    assert counts(imported.import_files()) == (0, 0, 6, 0)
    (row,) = imported.ask(
        "SELECT DISTINCT source_file FROM imported_results WHERE model = 'resnet50'"
    )
    assert str(row["source_file"]).endswith("timm.csv")


FULL_NAME = "benchmark-infer-amp-nhwc-pt240-cu124-rtx4090.csv"


@pytest.mark.slow
def test_a_name_that_tells_less_takes_nothing_away(place: Place) -> None:
    (place.sources / "timm.csv").rename(place.sources / FULL_NAME)
    place.import_files()
    before = place.table()
    (place.sources / FULL_NAME).rename(place.sources / "copy.csv")
    assert counts(place.preview_import()) == counts(place.import_files()) == (0, 0, 6, 0)
    assert place.table() == before
    place.database.unlink()
    assert counts(place.import_files()) == (6, 0, 0, 0)
    devices = place.ask("SELECT DISTINCT hardware FROM imported_results WHERE family = 'vision'")
    assert devices == [{"hardware": "rtx4090"}]


def test_a_name_that_tells_more_replaces_what_was_read(imported: Place) -> None:
    (imported.sources / "timm.csv").rename(imported.sources / FULL_NAME)
    assert counts(imported.preview_import()) == counts(imported.import_files()) == (2, 0, 4, 2)
    found = imported.ask(
        "SELECT model, precision FROM imported_results WHERE source_format = 'timm'"
    )
    assert {row["precision"] for row in found} == {"amp"}
    assert len(found) == 2


def test_a_mark_in_a_name_stays(imported: Place) -> None:
    (imported.sources / "timm.csv").rename(imported.sources / "timm-simulated.csv")
    assert counts(imported.import_files()) == (0, 2, 4, 0)
    (imported.sources / "timm-simulated.csv").rename(imported.sources / "timm.csv")
    assert counts(imported.import_files()) == (0, 0, 6, 0)
    assert imported.ask("SELECT model FROM imported_results WHERE source_format = 'timm'") == []


def test_a_dry_run_writes_nothing_and_knows_what_is_there(place: Place, tmp_path: Path) -> None:
    assert counts(place.preview_import()) == (6, 0, 0, 0)
    assert [path.name for path in tmp_path.iterdir()] == ["sources"]
    place.import_files()
    write(place.sources / "later.csv", LATER)
    before = place.database.read_bytes()
    assert counts(place.preview_import()) == (2, 0, 6, 0)
    assert place.database.read_bytes() == before
    assert len(place.files()) == 3


@pytest.mark.slow
def test_the_database_can_be_made_anew_from_the_files(imported: Place, tmp_path: Path) -> None:
    before = imported.table()
    raw = imported.table("raw_benchmark_data")
    assert merge_paths([imported.results], tmp_path / "new.duckdb", scratch=False).inserted == 6
    imported.database = tmp_path / "new.duckdb"
    assert imported.table() == before
    assert imported.table("raw_benchmark_data") == raw
    assert counts(imported.import_files()) == (0, 0, 6, 0)


@pytest.mark.slow
@pytest.mark.representatives(2)
@pytest.mark.parametrize("which", ["results", "results/imports", "each file"])
def test_the_imports_are_described_anew(imported: Place, tmp_path: Path, which: str) -> None:
    runs = imported.table("benchmark_runs")
    paths = imported.files() if which == "each file" else [tmp_path / which]
    for _ in range(2):
        merge_paths(paths, tmp_path / "new.duckdb", scratch=False)
        imported.database = tmp_path / "new.duckdb"
        assert imported.table("benchmark_runs") == runs


def test_after_the_files_were_deleted_nothing_is_replaced(imported: Place, tmp_path: Path) -> None:
    before = imported.table()
    for file in imported.files():
        file.unlink()
    assert counts(imported.import_files()) == (0, 0, 6, 0)
    assert merge_paths([imported.results], imported.database, scratch=False).unchanged == 6
    assert imported.table() == before


def test_a_damaged_file_is_written_anew(imported: Place) -> None:
    for file in imported.files():
        file.write_bytes(file.read_bytes()[:-50])
    imported.database.unlink()
    assert counts(imported.import_files()) == (6, 0, 0, 0)


def test_what_was_interrupted_before_the_merge_is_finished(imported: Place) -> None:
    imported.database.unlink()
    before = {file: file.stat().st_mtime_ns for file in imported.files()}
    assert counts(imported.import_files()) == (6, 0, 0, 0)
    assert {file: file.stat().st_mtime_ns for file in imported.files()} == before


@pytest.mark.slow
def test_what_came_with_other_records_is_there(imported: Place, tmp_path: Path) -> None:
    elsewhere = Place(tmp_path / "elsewhere")
    write(elsewhere.sources / "copy.csv", TABLE)
    merge_paths([imported.results], elsewhere.database, scratch=False)
    before = elsewhere.table()
    assert counts(elsewhere.preview_import()) == counts(elsewhere.import_files()) == (0, 0, 2, 0)
    assert elsewhere.table() == before
    assert len(elsewhere.files()) == 1


def mapped(folder: Path, *columns: str) -> MappedFormat:
    text = f"source: lab\ncolumns: {{model: {{from: net}}, {', '.join(columns)}}}"
    return MappedFormat.load(write(folder / "lab.yaml", text))


@pytest.mark.slow
def test_what_is_read_otherwise_replaces_what_was_read_before(tmp_path: Path) -> None:
    place = Place(tmp_path)
    file = write(place.sources / "lab.csv", "net,ms,ips\na,4,\nb,2,500\nc,,500\n")
    latency = "latency_mean_s: {from: ms, unit: ms}"
    wrong, right = (
        read_files([file], [mapped(tmp_path, *columns)])
        for columns in (("throughput: {from: ips}",), (latency,))
    )
    first = import_files(wrong, place.results, place.database, "first")
    assert counts(first) == (2, 0, 0, 0)
    foreseen = preview_import(right, place.database)
    again = import_files(right, place.results, place.database, "second")
    assert counts(foreseen) == counts(again) == (1, 1, 0, 1)
    told = place.ask("SELECT model, throughput, latency_mean_ms FROM imported_results ORDER BY 1")
    assert [tuple(row.values()) for row in told] == [("a", None, 4.0), ("b", None, 2.0)]
    assert len(place.files()) == 1
    new = tmp_path / "new.duckdb"
    merge_paths([place.results], new, scratch=False)
    same = place.ask(EVERYTHING)
    place.database = new
    assert place.ask(EVERYTHING) == same


def test_without_records_there_is_no_database(tmp_path: Path) -> None:
    place = Place(tmp_path)
    write(place.sources / "models.json", MODELS)
    write(place.sources / "notes.md", "nothing")
    assert counts(place.import_files()) == (0, 0, 0, 0)
    assert not place.results.exists()


def test_our_own_rows_stay_as_they_are(place: Place) -> None:
    with Store.open(place.database) as store:
        store.merge([], Run(run_id="ours", started_at="2026-11-22T00:00:00Z"))
    place.import_files()
    assert place.ask("SELECT count(*) AS n FROM benchmark_runs WHERE run_id = 'ours'") == [{"n": 1}]


def test_a_scratch_database_is_not_for_imports(place: Place) -> None:
    Store.open(place.database, scratch=True).close()
    with pytest.raises(StoreError, match="a scratch database"):
        place.import_files()


def test_a_results_folder_that_cannot_be_written_leaves_nothing_half(place: Place) -> None:
    write(place.results / "imports", "a file where the folder goes")
    with pytest.raises(StoreError, match="cannot be written") as refused:
        place.import_files()
    hint = "move away what is in its place, then import again; nothing was written"
    assert refused.value.hint == hint
    assert place.ask("SELECT * FROM benchmark_results") == []
    (place.results / "imports").unlink()
    assert counts(place.import_files()) == (6, 0, 0, 0)


THEN = datetime(2026, 11, 21, tzinfo=UTC)
NOW = datetime(2026, 11, 22, tzinfo=UTC)
HELD = {"a": RowContent("1", THEN), "b": RowContent("2", THEN), "c": RowContent("3", THEN)}
READ = {"a": RowContent("1", NOW), "b": RowContent("9", NOW), "d": RowContent("4", NOW)}


def test_records_are_new_changed_there_or_gone() -> None:
    change = compare_contents(HELD, READ)
    assert (change.new, change.changed) == (("d",), ("b",))
    assert (change.there, change.gone) == (("a",), ("c",))
    assert not change.is_none
    assert compare_contents(HELD, HELD).is_none
    assert compare_contents({}, READ).new == ("a", "b", "d")


def moments(
    held: dict[str, RowContent], read: dict[str, RowContent], now: datetime
) -> list[datetime]:
    type_ = pa.timestamp("us", tz="UTC")
    table = pa.table({"cell_id": list(read), "recorded_at": pa.array([NOW] * len(read), type_)})
    told: list[datetime] = set_import_times(table, held, compare_contents(held, read), now)[
        "recorded_at"
    ].to_pylist()
    return told


def test_what_did_not_change_keeps_its_time() -> None:
    assert moments(HELD, READ, NOW) == [THEN, NOW, NOW]


def test_what_changed_is_newer_even_if_the_clock_went_back() -> None:
    past = THEN - timedelta(days=1)
    assert moments(HELD, READ, past) == [THEN, THEN + timedelta(microseconds=1), past]


def changes_nothing(data: Any) -> None:
    outcome = read_document(Document(Path("a.json"), json.dumps(data).encode()), FORMATS)
    with TemporaryDirectory() as folder:
        results, database = Path(folder), Path(folder, "x.duckdb")
        first = import_files([outcome], results, database, "import")
        assert first.merged is not None
        assert first.merged.damaged == ()
        if first.added:
            previewed = preview_import([outcome], database)
            for again in (previewed, import_files([outcome], results, database, "import")):
                assert (again.added, again.replaced, again.gone) == (0, 0, 0)
                assert again.there == first.added


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("blank", ["", "  "])
def test_blank_text_is_null(blank: str) -> None:
    changes_nothing(DIRECT | {"hardware": blank, "cpu_model": blank, "device_name": blank})


@pytest.mark.slow
def test_whatever_a_file_holds_is_imported_once() -> None:
    try_examples(8, changes_nothing, mutated(SAMPLES))


@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59"])
def test_a_moment_at_an_end_of_the_calendar_is_refused_by_its_key(moment: str) -> None:
    content = json.dumps(DIRECT | {"timestamp": moment}).encode()
    outcome = read_document(Document(Path("a.json"), content), FORMATS)
    assert not outcome.reading.measurements
    assert "/timestamp: " in outcome.summary
    assert "is not between 0001-01-02 and 9999-12-30, UTC" in outcome.summary
