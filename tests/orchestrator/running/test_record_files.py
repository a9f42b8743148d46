"""A run folder whose records were compacted is read, resumed and mended as before."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.running.folder import RunFolder
from orchestrator.running.merge_run import merge_run
from orchestrator.store.merge.report import MergeReport
from orchestrator.store.records.compact import compact, compact_files
from orchestrator.store.store import Store
from runner.contract.cell import Cell
from runner.contract.errors import StoreError
from runner.contract.job import Provenance
from runner.contract.record.verdict import Status
from runner.contract.rounds import round_path, save_round
from tests.support.jobs import fake_cell
from tests.support.records import a_round, record_for
from tests.support.runs import a_plan, a_run_folder
from tests.support.words import words_of

SOMEWHERE = Provenance(launcher="docker", image="an-image", orchestrator_version="0")
STATUSES: tuple[Status, ...] = ("ok", "lost", "failed")


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A finished run of three cells."""
    folder = a_run_folder(tmp_path)
    for cell, status in zip(folder.cells, STATUSES, strict=True):
        folder.save(record_for(folder.run.job([cell], SOMEWHERE), cell, status=status))
    return folder


@pytest.fixture
def compacted(folder: RunFolder) -> RunFolder:
    """The same, compacted."""
    compact(folder.records, "run-1", [cell.id for cell in folder.cells])
    return folder


def loose(folder: RunFolder) -> list[str]:
    return sorted(path.stem for path in folder.records.glob("*/*.parquet"))


def file_of(folder: RunFolder, cell: Cell) -> Path:
    return folder.records / cell.job_id / f"{cell.id}.parquet"


def test_records_are_read_from_the_one_file(folder: RunFolder) -> None:
    before = folder.sound_records()
    compact(folder.records, "run-1", [cell.id for cell in folder.cells])
    assert loose(folder) == []
    assert folder.sound_records() == before
    assert RunFolder.open(folder.path.parent, "last").sound_records() == before
    assert folder.due(folder.cells, 1) == []
    assert list(folder.verdicts().values()) == list(STATUSES)
    assert folder.unfinished() == [folder.cells[1]]


def test_forgetting_unpacks_and_drops_these_alone(compacted: RunFolder) -> None:
    compacted.forget_retried()
    assert compact_files(compacted.records) == []
    assert compacted.due(compacted.cells, 1) == [compacted.cells[1]]
    assert loose(compacted) == sorted(compacted.cells[at].id for at in (0, 2))


def test_a_database_is_made_anew_from_it(compacted: RunFolder, tmp_path: Path) -> None:
    report = merge_run(compacted, tmp_path / "benchmarks.duckdb")
    assert report == MergeReport(inserted=3)
    with Store.open_readonly(tmp_path / "benchmarks.duckdb") as store:
        (run,) = store.runs()
    assert run.counts == {"lost": 1, "ok": 1, "failed": 1}
    assert run.finished_at is not None


@pytest.mark.parametrize("content", [b"", b"PAR1 is not enough"])
def test_a_damaged_one_is_set_aside_and_its_cells_are_lost(
    compacted: RunFolder, content: bytes
) -> None:
    (path,) = compact_files(compacted.records)
    path.write_bytes(content)
    ((moved, aside),) = compacted.set_aside([path])[0].items()
    assert moved == path
    assert aside.name == f"{path.name}.damaged"
    assert aside.read_bytes() == content
    records = compacted.sound_records()
    assert {record.status for record in records.values()} == {"lost"}
    assert {record.recorded_at for record in records.values()} == {compacted.run.started_at}
    assert aside.name in str(words_of(records[compacted.cells[0].id].ending))
    assert compacted.set_aside([path]) == ({}, [])


@pytest.mark.slow
def test_a_damaged_one_leaves_verdicts_of_the_database_alone(
    folder: RunFolder, tmp_path: Path
) -> None:
    database = tmp_path / "benchmarks.duckdb"
    merge_run(folder, database)
    compact(folder.records, "run-1", [cell.id for cell in folder.cells])
    compact_files(folder.records)[0].write_bytes(b"")
    report = merge_run(folder, database)
    assert (report.inserted, report.replaced, len(report.damaged)) == (0, 0, 1)
    with Store.open_readonly(database) as store:
        assert store.verdicts("run-1")[folder.cells[0].id] == "ok"


def test_a_row_that_this_runner_does_not_understand_counts_as_missing(compacted: RunFolder) -> None:
    (path,) = compact_files(compacted.records)
    table = pq.read_table(path)
    at = table.column_names.index("status")
    words = pa.array(["dreamt" if word == "lost" else word for word in table["status"].to_pylist()])
    pq.write_table(table.set_column(at, table.schema.field(at), words), path)
    assert compacted.due(compacted.cells, 1) == [compacted.cells[1]]


def test_a_place_that_cannot_be_written_keeps_it_compact(compacted: RunFolder) -> None:
    (compacted.records / compacted.cells[0].job_id).write_text("in the way")
    with pytest.raises(StoreError, match="cannot be unpacked"):
        compacted.forget_retried()
    assert len(compact_files(compacted.records)) == 1


ROUNDS = 3


@pytest.fixture
def in_rounds(tmp_path: Path) -> RunFolder:
    return a_run_folder(tmp_path, a_plan(rounds=ROUNDS))


def visit(in_rounds: RunFolder, cell: Cell, *rounds: int) -> list[Path]:
    out = in_rounds.out(cell.job_id)
    for number in rounds:
        save_round(a_round(), out, cell, number)
    return [round_path(out, cell, number) for number in rounds]


def names(in_rounds: RunFolder) -> list[str]:
    return sorted(path.name for path in in_rounds.records.rglob("*.json*"))


def test_a_round_misses_the_cells_it_has_not_visited(in_rounds: RunFolder) -> None:
    first, second, third = in_rounds.cells
    visit(in_rounds, first, 1, 2)
    visit(in_rounds, second, 1)
    assert in_rounds.due(in_rounds.cells, 1) == [third]
    assert in_rounds.due(in_rounds.cells, 2) == [second, third]
    assert in_rounds.due(in_rounds.cells, ROUNDS) == in_rounds.cells
    assert in_rounds.verdicts() == {}
    in_rounds.save(
        record_for(in_rounds.run.job([first], in_rounds.nowhere), first, status="failed")
    )
    for number in range(1, ROUNDS + 1):
        assert first not in in_rounds.due(in_rounds.cells, number)


@pytest.mark.parametrize("damaged", [1, 2])
@pytest.mark.parametrize("content", [b"", b'{"samples": 3', b"{}", b"\0" * 100])
def test_a_damaged_part_makes_its_cell_start_over(
    in_rounds: RunFolder, damaged: int, content: bytes
) -> None:
    first, second, _ = in_rounds.cells
    visit(in_rounds, first, 1, 2)[damaged - 1].write_bytes(content)
    visit(in_rounds, second, 1, 2)
    assert first in in_rounds.due(in_rounds.cells, 2)
    assert first in in_rounds.due(in_rounds.cells, 1)
    assert second not in in_rounds.due(in_rounds.cells, 2)
    assert [name for name in names(in_rounds) if name.startswith(first.id)] == [
        f"{first.id}.round{number}.json.dropped" for number in (1, 2)
    ]


def test_a_part_without_those_before_it_is_no_use(in_rounds: RunFolder) -> None:
    first = in_rounds.cells[0]
    visit(in_rounds, first, 2)
    assert in_rounds.due([first], 2) == [first]
    assert names(in_rounds) == [f"{first.id}.round2.json.dropped"]


def test_dropping_takes_the_parts_of_these_cells_alone(tmp_path: Path) -> None:
    cells = [fake_cell(1), fake_cell(1, sequence_length=80), fake_cell(2)]
    in_rounds = a_run_folder(tmp_path, a_plan(cells, rounds=ROUNDS))
    for cell in cells:
        visit(in_rounds, cell, 1, 2)
    trace = in_rounds.out(cells[0].job_id) / f"{cells[0].id}.trace.json"
    trace.write_text("{}")
    assert in_rounds.rounds.drop(cells[:1]) == 2
    assert in_rounds.rounds.drop(cells[:1]) == 0
    assert in_rounds.due(cells, 1) == cells[:1]
    assert trace.exists()
