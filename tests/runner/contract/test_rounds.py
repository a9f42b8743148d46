"""Parts outlive the process that measured them."""

from pathlib import Path

import pytest

from runner.contract.errors import RecordError, RecordNotSaved
from runner.contract.record.verdict import Doubt
from runner.contract.rounds import Bursts, read_rounds, round_path, save_round
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


def bursts_of(*iterations: int) -> Bursts:
    count = len(iterations)
    return Bursts(iterations=[*iterations], dropped=0, rest_s=0, clocks_hz=[None] * count)


@pytest.mark.parametrize("iterations", [(1,), (2, 2), (1, 1, 1, 1)])
def test_bursts_that_do_not_add_up_to_the_durations_are_damaged(
    tmp_path: Path, iterations: tuple[int, ...]
) -> None:
    result = a_round([1, 2, 3]).model_copy(update={"bursts": bursts_of(*iterations)})
    save_round(result, tmp_path, fake_cell(), 1)
    with pytest.raises(RecordError, match="cannot be read"):
        read_rounds(tmp_path, fake_cell(), 1)


@pytest.mark.parametrize(
    ("iterations", "samples", "medians"),
    [
        (None, 6, [35]),
        ((6,), 6, [35]),
        ((3, 3), 6, [20, 50]),
        ((1, 2, 3), 6, [10, 25, 50]),
        ((1, 2, 3), 24, [2.5, 6.25, 12.5]),
    ],
)
def test_each_burst_has_its_median_time_of_a_sample(
    iterations: tuple[int, ...] | None, samples: int, medians: list[float]
) -> None:
    bursts = iterations and bursts_of(*iterations)
    result = a_round([10, 20, 30, 40, 50, 60], samples=samples, bursts=bursts)
    assert result.sample_medians_ns == medians


def test_a_part_that_cannot_be_written_leaves_nothing_half_written(tmp_path: Path) -> None:
    with pytest.raises(RecordNotSaved):
        save_round(a_round(), tmp_path / "gone", fake_cell(), 1)
    assert list(tmp_path.iterdir()) == []
