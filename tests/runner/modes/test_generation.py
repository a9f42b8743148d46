"""Generation: what one iteration keeps and insists on, and the columns made of it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.backends.base import Generated, Query
from runner.backends.fake import FakeSession, Script
from runner.contract.cell import Cell
from runner.contract.errors import BenchError, Unsupported
from runner.contract.job import PROFILES, Measure
from runner.inputs import Inputs
from runner.measure.clock import Clock
from runner.modes.generation import GenerationWorkload, generation_columns, token_doubts
from tests.support.fakes import FakeClock
from tests.support.jobs import a_job, fake_cell

CELL = fake_cell(2, mode="generation", new_tokens=4)


class Session(FakeSession):
    """A session whose tokens come at the times that the test says, nanoseconds after the start."""

    def __init__(self, *times_ns: int, shape: tuple[int, int] = (2, 4), **config: Any) -> None:
        super().__init__(Script({"latency_s": 0, **config}))
        self._times_ns = times_ns
        self._shape = shape
        self.queries = 0

    def bind(self, cell: Cell, inputs: Inputs) -> Query:
        self.queries += 1
        return super().bind(cell, inputs)

    def bind_generation(self, cell: Cell, inputs: Inputs, clock: Clock) -> Any:
        tokens = np.zeros(self._shape, dtype=np.int64)
        return lambda: Generated(1000, [1000 + time for time in self._times_ns], tokens)


def a_workload(session: FakeSession, cell: Cell = CELL) -> GenerationWorkload:
    return GenerationWorkload(session, a_job([cell]), cell, FakeClock())


def test_the_first_token_and_the_gaps_after_it_are_kept_apart_until_forgotten() -> None:
    workload = a_workload(Session(100, 130, 150, 190))
    assert [workload(), workload()] == [190, 190]
    gaps = [30, 20, 40]
    assert workload.parts_ns == {"first_token": [100, 100], "output_token": gaps * 2}
    assert workload.samples == 2
    workload.forget()
    workload()
    assert workload.parts_ns == {"first_token": [100], "output_token": gaps}
    assert workload.columns() == {}


def test_one_new_token_leaves_no_gap() -> None:
    cell = fake_cell(2, mode="generation", new_tokens=1)
    workload = a_workload(Session(100, shape=(2, 1)), cell)
    assert workload() == 100
    assert workload.parts_ns == {"first_token": [100], "output_token": []}
    columns = generation_columns(workload.parts_ns, [100], cell)
    assert columns["decode_throughput"] is None
    assert columns["time_per_output_token_mean_s"] is None
    assert columns["inter_token_latency_mean_s"] is None
    assert columns["token_throughput"] == pytest.approx(2 / 100e-9)


@pytest.mark.parametrize(
    ("times", "shape", "message"),
    [
        ((10, 20, 30), (2, 3), "generated 3 of 4 tokens"),
        ((), (0, 0), "generated 0 of 4 tokens"),
        ((10, 20, 30, 40, 50), (2, 5), "generated 5 of 4 tokens"),
        ((10, 20, 30, 40), (1, 4), r"generated tokens of shape \[1, 4\] for 2 samples"),
    ],
)
def test_every_iteration_insists_on_all_tokens(
    times: tuple[int, ...], shape: tuple[int, int], message: str
) -> None:
    workload = a_workload(Session(*times, shape=shape))
    with pytest.raises(BenchError, match=message):
        workload()


def test_a_forward_pass_over_the_prompt_is_checked_apart_from_the_iterations() -> None:
    session = Session(10, 20, 30, 40)
    workload = a_workload(session)
    assert (workload(), session.queries) == (40, 0)
    workload.check()
    assert session.queries == 1
    with pytest.raises(BenchError, match="the outputs hold NaN or infinity"):
        a_workload(Session(10, 20, 30, 40, finite=False)).check()


def test_a_cell_without_a_number_of_tokens_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="generation needs new_tokens"):
        a_workload(Session(10), fake_cell(2, mode="generation"))


def test_the_fake_backend_generates_as_asked() -> None:
    workload = a_workload(FakeSession(Script({"latency_s": 0})))
    workload()
    workload()
    assert len(workload.parts_ns["first_token"]) == 2
    assert len(workload.parts_ns["output_token"]) == 2 * 3
    workload.close()


def test_columns_of_all_iterations_together() -> None:
    parts = {"first_token": [100, 300], "output_token": [10, 20, 30, 10, 20, 10]}
    columns = generation_columns(parts, [160, 340], CELL)
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
                st.integers(1, 10**9),
                st.lists(st.integers(1, 10**9), min_size=gaps, max_size=gaps),
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
    columns = generation_columns(parts, durations, cell)
    decoding_s = (
        sum(duration - first for duration, (first, _) in zip(durations, runs, strict=True)) / 1e9
    )
    decoded = batch * (new_tokens - 1) * len(runs)
    assert columns["decode_throughput"] == pytest.approx(decoded / decoding_s)
    per_token = [sum(gaps) / len(gaps) / 1e9 for _, gaps in runs]
    assert columns["time_per_output_token_median_s"] == pytest.approx(np.median(per_token))
    total = batch * new_tokens * len(runs) / (sum(durations) / 1e9)
    assert columns["token_throughput"] == pytest.approx(total)


def aiming_at(target: float) -> Measure:
    return PROFILES["quick"].model_copy(update={"precision_target": target})


def test_first_and_further_tokens_have_intervals_and_are_graded() -> None:
    random = np.random.default_rng(0)
    first = random.normal(1e6, 2e5, 20).astype(int).tolist()
    gaps = random.normal(1e5, 1e3, (20, 3)).astype(int)
    durations = [start + int(sum(row)) for start, row in zip(first, gaps, strict=True)]
    parts = {"first_token": first, "output_token": gaps.ravel().tolist()}
    columns = generation_columns(parts, durations, CELL)
    for prefix in ("time_to_first_token", "time_per_output_token"):
        names = (f"{prefix}_median_{end}s" for end in ("low_", "", "high_"))
        low, median, high = (columns[name] or 0 for name in names)
        assert 0 < low < median < high
    (doubt,) = token_doubts(columns, aiming_at(0.05))
    assert doubt.grade == "C"
    assert doubt.text.startswith("the median time to the first token is known within")
    assert list(token_doubts(columns, aiming_at(0.5))) == []
    assert list(token_doubts({}, aiming_at(0.01))) == []
