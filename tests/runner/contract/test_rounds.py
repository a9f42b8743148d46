"""Parts outlive the process that measured them."""

from pathlib import Path

import pytest

from runner.contract.errors import RecordError, RecordNotSaved
from runner.contract.record.verdict import Doubt
from runner.contract.rounds import read_rounds, round_path, save_round
from tests.support.jobs import fake_cell
from tests.support.records import a_round


def test_parts_come_back_as_they_were_in_the_order_of_rounds(tmp_path: Path) -> None:
    cell = fake_cell()
    served = a_round(
        [3], parts_ns={"service": [1]}, doubts=[Doubt("quota", "C", 0.1, "lift_quota")]
    )
    results = [a_round([1, 2]), served]
    for number, result in enumerate(results, start=1):
        save_round(result, tmp_path, cell, number)
    assert read_rounds(tmp_path, cell, 2) == results
    assert read_rounds(tmp_path, cell, 0) == []


@pytest.mark.parametrize("content", [None, "", "{", '{"samples": 1}'])
def test_a_missing_or_damaged_part_is_named(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        round_path(tmp_path, fake_cell(), 1).write_text(content)
    with pytest.raises(RecordError, match=f"{fake_cell().id}: an earlier round cannot be read"):
        read_rounds(tmp_path, fake_cell(), 1)


def test_a_part_that_cannot_be_written_leaves_nothing_half_written(tmp_path: Path) -> None:
    with pytest.raises(RecordNotSaved):
        save_round(a_round(), tmp_path / "gone", fake_cell(), 1)
    assert list(tmp_path.iterdir()) == []
