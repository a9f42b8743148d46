"""Parts of earlier rounds are kept, found again, and dropped whole when one of them is damaged."""

from pathlib import Path

import pytest

from orchestrator.run_folder import RunFolder
from runner.cell import Cell
from runner.part import part_path, save_part
from runner.record import Record
from tests.jobs import fake_cell
from tests.parts import a_part
from tests.runs import a_plan, a_run_folder

ROUNDS = 3


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return a_run_folder(tmp_path, a_plan(rounds=ROUNDS))


def visit(folder: RunFolder, cell: Cell, *rounds: int) -> list[Path]:
    out = folder.out(cell.job_id)
    for number in rounds:
        save_part(a_part(), out, cell, number)
    return [part_path(out, cell, number) for number in rounds]


def names(folder: RunFolder) -> list[str]:
    return sorted(path.name for path in folder.records.rglob("*.json*"))


def test_a_round_misses_the_cells_it_has_not_visited(folder: RunFolder) -> None:
    first, second, third = folder.cells
    visit(folder, first, 1, 2)
    visit(folder, second, 1)
    assert folder.unvisited(folder.cells, 1) == [third]
    assert folder.unvisited(folder.cells, 2) == [second, third]
    assert folder.unvisited(folder.cells, ROUNDS) == folder.cells


def test_a_cell_with_a_record_is_done_whatever_the_round(folder: RunFolder) -> None:
    first = folder.cells[0]
    folder.save(Record.of(folder.job([first], folder.nowhere), first, status="failed"))
    for number in range(1, ROUNDS + 1):
        assert first not in folder.unvisited(folder.cells, number)


@pytest.mark.parametrize("damaged", [1, 2])
@pytest.mark.parametrize("content", [b"", b'{"samples": 3', b"{}", b"\0" * 100])
def test_a_damaged_part_makes_its_cell_start_over(
    folder: RunFolder, damaged: int, content: bytes
) -> None:
    first, second, _ = folder.cells
    visit(folder, first, 1, 2)[damaged - 1].write_bytes(content)
    visit(folder, second, 1, 2)
    assert first in folder.unvisited(folder.cells, 2)
    assert first in folder.unvisited(folder.cells, 1)
    assert second not in folder.unvisited(folder.cells, 2)
    assert [name for name in names(folder) if name.startswith(first.id)] == [
        f"{first.id}.round{number}.json.dropped" for number in (1, 2)
    ]


def test_a_part_without_those_before_it_is_no_use(folder: RunFolder) -> None:
    first = folder.cells[0]
    visit(folder, first, 2)
    assert folder.unvisited([first], 2) == [first]
    assert names(folder) == [f"{first.id}.round2.json.dropped"]


def test_dropping_takes_the_parts_of_these_cells_alone(tmp_path: Path) -> None:
    cells = [fake_cell(1), fake_cell(1, sequence_length=80), fake_cell(2)]
    folder = a_run_folder(tmp_path, a_plan(cells, rounds=ROUNDS))
    for cell in cells:
        visit(folder, cell, 1, 2)
    trace = folder.out(cells[0].job_id) / f"{cells[0].id}.trace.json"
    trace.write_text("{}")
    assert folder.parts.drop(cells[:1]) == 2
    assert folder.parts.drop(cells[:1]) == 0
    assert folder.unvisited(cells, 1) == cells[:1]
    assert trace.exists()


def test_parts_are_no_records(folder: RunFolder) -> None:
    visit(folder, folder.cells[0], 1, 2)
    assert folder.verdicts() == {}
    assert folder.missing(folder.cells) == folder.cells
