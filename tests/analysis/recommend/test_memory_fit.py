"""Memory by measured neighbours: what ran out speaks against all larger cells, and no others."""

import pytest

from analysis.recommend.candidates import Figure
from analysis.recommend.memory_fit import (
    MemoryResult,
    grown_bytes,
    is_at_least,
    objection_by_memory,
    ran_out,
)
from analysis.statistics.ratios import Estimate
from runner.contract.cell import Cell

GB = 10**9
SMALL = Cell(
    model="bert-tiny",
    backend="cpu",
    runtime="torch",
    precision="fp32",
    batch_size=4,
    sequence_length=128,
    mode="inference",
)


def cell(**changes: object) -> Cell:
    return SMALL.model_copy(update=changes)


def predicted(megabytes: float, high: float, *outside: str) -> Figure:
    return Figure(megabytes, Estimate(megabytes, megabytes, high), "predicted", outside=outside)


@pytest.mark.parametrize(
    ("larger", "answer"),
    [
        (cell(), True),
        (cell(batch_size=8), True),
        (cell(batch_size=8, sequence_length=256), True),
        (cell(batch_size=8, sequence_length=64), False),
        (cell(batch_size=2), False),
        (cell(batch_size=8, precision="int8"), False),
        (cell(batch_size=8, mode="training"), False),
    ],
)
def test_cells_are_larger_only_on_the_same_path(larger: Cell, answer: bool) -> None:
    assert is_at_least(larger, SMALL) is answer


@pytest.mark.parametrize(
    ("measured_limit", "asked", "speaks_against"),
    [
        (None, None, True),
        (None, 2 * GB, True),
        (1 * GB, None, True),
        (2 * GB, 1 * GB, True),
        (1 * GB, 2 * GB, False),
    ],
)
def test_running_out_says_nothing_about_a_higher_limit(
    measured_limit: int | None, asked: int | None, speaks_against: bool
) -> None:
    out = [MemoryResult(SMALL, None, ran_out=True, limit_bytes=measured_limit)]
    assert bool(ran_out(SMALL, out, asked)) is speaks_against
    assert bool(ran_out(cell(batch_size=64), out, asked)) is speaks_against
    assert ran_out(cell(batch_size=2), out, asked) is None


@pytest.mark.parametrize(
    ("limit", "asked", "fits"),
    [(GB, GB, True), (GB, 2 * GB, True), (2 * GB, GB, False), (None, GB, False)],
)
def test_what_ran_under_a_limit_fits_it(limit: int | None, asked: int, fits: bool) -> None:
    took = [MemoryResult(SMALL, 1.064 * GB, limit_bytes=limit), MemoryResult(SMALL, 1.1 * GB)]
    for fitting in (SMALL, cell(batch_size=2)):
        assert (objection_by_memory(fitting, asked, took, None) is None) is fits


MEASURED = [MemoryResult(cell(batch_size=8), 1.0 * GB), MemoryResult(cell(batch_size=32), 3.0 * GB)]


@pytest.mark.parametrize(
    ("batch", "known", "kind", "reason"),
    [
        (8, None, None, ""),
        (2, None, None, "a larger one fitted"),
        (32, predicted(1, 1), "does_not_fit", "took 3 GB, 50 % over 2 GB"),
        (64, predicted(1, 1), "does_not_fit", "took at b32-s128 3 GB, 50 % over 2 GB"),
        (16, predicted(1500, 1900), None, ""),
        (16, predicted(1500, 2200), "does_not_fit", "may take up to 2.2 GB, 10 % over 2 GB"),
        (16, predicted(1500, 1900, "batch size 16 is far"), "fit_unknown", "batch size 16 is far"),
        (16, None, "fit_unknown", "nothing tells its memory"),
    ],
)
def test_what_was_measured_goes_before_what_is_predicted(
    batch: int, known: Figure | None, kind: str | None, reason: str
) -> None:
    objection = objection_by_memory(cell(batch_size=batch), 2 * GB, MEASURED, known)
    assert (objection and objection.kind) == kind
    if objection:
        assert objection.reason == reason


def took(**peaks: float) -> list[MemoryResult]:
    """Gigabytes by batch, e.g. `b4=1.5`."""
    return [MemoryResult(cell(batch_size=int(b[1:])), peak * GB) for b, peak in peaks.items()]


@pytest.mark.parametrize(
    ("results", "batch", "gigabytes"),
    [
        (took(b1=1.0, b2=1.1, b4=1.3), 8, 1.05 * 1.7),
        (took(b1=1.2, b2=1.0, b4=1.4), 8, 1.05 * (1.4 + 4 * 0.2)),
        (took(b1=1.0, b2=1.1, b4=1.3), 16, 1.05 * 2.5),
        (took(b1=1.0, b2=1.1, b4=1.3), 17, None),
        (took(b1=1.0, b4=1.3), 8, None),
        (took(b1=1.0, b2=1.0, b4=1.05), 8, None),
    ],
)
def test_growth_is_followed_along_its_steepest_slope_and_not_far(
    results: list[MemoryResult], batch: int, gigabytes: float | None
) -> None:
    expected = None if gigabytes is None else pytest.approx(gigabytes * GB)
    other_length = [MemoryResult(cell(batch_size=2, sequence_length=512), 9.0 * GB)]
    assert grown_bytes(cell(batch_size=batch), [*results, *other_length]) == expected
