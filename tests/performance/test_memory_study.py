"""The study of memory: its matrices are whole, and its bars are counted right."""

import pytest

from orchestrator.matrix import Source, resolve
from orchestrator.planning.expand import expand
from performance.memory_study.choices import MemoryChoice, MemorySeries, report_choices
from performance.memory_study.series import planned_series

GB = 10**9
KEY = ("bert-tiny", "cpu", "torch", "fp32")


def test_every_series_is_a_matrix_whose_cells_can_run() -> None:
    series = list(planned_series())
    assert len({one.name for one in series}) == len(series)
    for one in series:
        matrix = resolve(Source(one.name, one.matrix(limited=True)))
        cells = expand(matrix).cells
        assert [cell.batch_size for cell, _ in cells] == list(one.batches)
        assert all(reason is None for _, reason in cells)
        assert matrix.limits[cells[0][0].backend].memory_bytes == one.limit_bytes


def choice(batch: int | None) -> MemoryChoice:
    """A choice for a series that fits up to batch 4 and runs out at 8."""
    peaks = {1: 0.4 * GB, 2: 0.6 * GB, 4: 0.9 * GB}
    return MemoryChoice(MemorySeries(KEY, GB, peaks, frozenset({8}), {}), batch)


def test_use_and_running_out_are_those_of_the_series() -> None:
    assert (choice(4).use, choice(4).ran_out) == (0.9, False)
    assert (choice(8).use, choice(8).ran_out) == (0.0, True)
    assert (choice(None).use, choice(None).ran_out) == (0.0, False)
    assert choice(2).best_use == 0.9


@pytest.mark.parametrize(
    ("batches", "held", "words"),
    [
        ((4, 4, 2), True, "out of memory 0.0% of them (at most 5%); mean use of the limit 80%"),
        ((4, 8), False, "out of memory 50.0% of them"),
        ((2, 2), False, "mean use of the limit 60% (at least 75%"),
        ((4, None), True, "1 of 2 series have a choice"),
    ],
)
def test_bars_are_judged_by_the_choices_that_were_made(
    batches: tuple[int | None, ...], held: bool, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report_choices("a study", [choice(batch) for batch in batches], 0.75) is held
    assert words in capsys.readouterr().out
