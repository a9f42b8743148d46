"""Generation: what one iteration keeps and insists on, and the columns made of it."""

from typing import Any

import numpy as np
import pytest

from runner.backends.base import Generated, Query
from runner.backends.fake import FakeSession, Script
from runner.contract.cell import Cell
from runner.contract.errors import BenchError, Unsupported
from runner.inputs import Inputs
from runner.measure.clock import Clock
from runner.modes.generation import GenerationWorkload, token_throughputs, token_times
from tests.support.fakes import FakeClock
from tests.support.jobs import a_job, fake_cell
from tests.support.words import raises_words

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
    times = token_times(workload.parts_ns, [100], cell)
    assert [len(values) for values in times.values()] == [1, 0, 0]
    throughputs = token_throughputs([], [100], cell)
    assert throughputs["decode_throughput"] is None
    assert throughputs["token_throughput"] == pytest.approx(2 / 100e-9)


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
    with raises_words(BenchError, match=message):
        workload()


def test_a_forward_pass_over_the_prompt_is_checked_apart_from_the_iterations() -> None:
    session = Session(10, 20, 30, 40)
    workload = a_workload(session)
    assert (workload(), session.queries) == (40, 0)
    workload.check()
    assert session.queries == 1
    with raises_words(BenchError, match="the outputs hold NaN or infinity"):
        a_workload(Session(10, 20, 30, 40, finite=False)).check()


def test_a_cell_without_a_number_of_tokens_is_unsupported() -> None:
    with raises_words(Unsupported, match="generation needs new_tokens"):
        a_workload(Session(10), fake_cell(2, mode="generation"))


def test_the_fake_backend_generates_as_asked() -> None:
    workload = a_workload(FakeSession(Script({"latency_s": 0})))
    workload()
    workload()
    assert len(workload.parts_ns["first_token"]) == 2
    assert len(workload.parts_ns["output_token"]) == 2 * 3
    workload.close()
