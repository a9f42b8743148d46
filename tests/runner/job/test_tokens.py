"""Columns of generations, and their intervals over fresh processes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.screen.words.doubts import doubt_text
from runner.contract.cell import Cell
from runner.contract.record.record import Columns
from runner.contract.rounds import RoundResult
from runner.job.summary import summarise_tokens
from tests.support.jobs import a_job, fake_cell
from tests.support.records import a_round

CELL = fake_cell(2, mode="generation", new_tokens=4)
JUDGED = ("time_to_first_token_median", "time_per_output_token_median")


def columns_of(cell: Cell, *rounds: RoundResult) -> Columns:
    return summarise_tokens(a_job([cell]), cell, rounds)[0]


def test_columns_of_all_iterations_together() -> None:
    parts = {"first_token": [100, 300], "output_token": [10, 20, 30, 10, 20, 10]}
    columns = columns_of(CELL, a_round([160, 340], parts_ns=parts))
    expected = {
        "time_to_first_token_mean_s": 200e-9,
        "time_to_first_token_median_s": 200e-9,
        "time_to_first_token_p99_s": None,
        "time_per_output_token_mean_s": 100e-9 / 6,
        "time_per_output_token_stddev_s": pytest.approx(20e-9 / 3 / 2**0.5),
        "inter_token_latency_mean_s": 100e-9 / 6,
        "inter_token_latency_median_s": 15e-9,
        "decode_throughput": 2 * 6 / 100e-9,
        "token_throughput": 2 * 4 * 2 / 500e-9,
    }
    assert {name: columns[name] for name in expected} == pytest.approx(expected)


@given(
    batch=st.integers(1, 16),
    runs=st.integers(1, 4).flatmap(
        lambda gaps: st.lists(
            st.tuples(
                st.integers(1, 10**9), st.lists(st.integers(1, 10**9), min_size=gaps, max_size=gaps)
            ),
            min_size=1,
            max_size=5,
        )
    ),
)
def test_the_formulas_hold_for_any_times(batch: int, runs: list[tuple[int, list[int]]]) -> None:
    new_tokens = len(runs[0][1]) + 1
    cell = fake_cell(batch, mode="generation", new_tokens=new_tokens)
    parts = {
        "first_token": [first for first, _ in runs],
        "output_token": [gap for _, gaps in runs for gap in gaps],
    }
    durations = [first + sum(gaps) for first, gaps in runs]
    columns = columns_of(cell, a_round(durations, parts_ns=parts))
    decoding_s = (
        sum(duration - first for duration, (first, _) in zip(durations, runs, strict=True)) / 1e9
    )
    decoded = batch * (new_tokens - 1) * len(runs)
    assert columns["decode_throughput"] == pytest.approx(decoded / decoding_s)
    per_token = [sum(gaps) / len(gaps) / 1e9 for _, gaps in runs]
    assert columns["time_per_output_token_median_s"] == pytest.approx(np.median(per_token))
    total = batch * new_tokens * len(runs) / (sum(durations) / 1e9)
    assert columns["token_throughput"] == pytest.approx(total)


def generated(level: float, seed: int = 0) -> RoundResult:
    """Twenty generations of four tokens of a process that takes so many times as long."""
    random = np.random.default_rng(seed)
    first = (level * random.normal(1e6, 1e5, 20)).astype(int).tolist()
    gaps = (level * random.normal(1e5, 1e3, (20, 3))).astype(int)
    durations = [start + int(sum(row)) for start, row in zip(first, gaps, strict=True)]
    parts = {"first_token": first, "output_token": gaps.ravel().tolist()}
    return a_round(durations, parts_ns=parts)


def test_first_and_further_tokens_have_intervals_and_are_graded() -> None:
    job = a_job([CELL])
    measure = job.measure.model_copy(update={"precision_target": 0.02})
    columns, doubts = summarise_tokens(
        job.model_copy(update={"measure": measure}), CELL, [generated(1)]
    )
    for prefix in JUDGED:
        names = (f"{prefix}_{end}s" for end in ("low_", "", "high_"))
        low, median, high = (columns[name] or 0 for name in names)
        assert 0 < low < median < high
    (doubt,) = doubts
    assert doubt.grade in "BC"
    assert doubt_text(doubt).startswith("the median time to the first token is known within")
