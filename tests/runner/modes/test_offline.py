from collections.abc import Callable, Sequence
from typing import Any

import pytest

from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.job import Limits, Measure
from runner.contract.rounds import RoundResult
from runner.modes.offline import measure_offline
from tests.support.jobs import a_job, fake_cell
from tests.support.records import a_round
from tests.support.scene import MILLISECOND, Scene

MEASURE = Measure(
    profile="quick",
    warmup_iterations=2,
    warmup_max_s=2,
    iterations=6,
    min_s=0,
    max_s=60,
    precision_target=0.05,
)
MIB = 1 << 20


def saturates_at(batch: int) -> Callable[[int], float]:
    """A device that takes 10 ms for up to so many samples, and in proportion beyond."""
    return lambda size: 0.01 * max(1.0, size / batch)


def measured(scene: Scene, cell: Cell | None = None, **changes: Any) -> RoundResult:
    cell = cell or fake_cell(scenario="offline")
    limits = changes.pop("limits", Limits())
    job = a_job([cell], measure=MEASURE.model_copy(update=changes), limits=limits)
    return measure_offline(scene.session, job, cell, scene.instruments())


@pytest.mark.parametrize(
    ("first", "bound"), [(1, [1, 2, 4, 8, 16, 8]), (4, [4, 8, 16, 8])], ids=["one", "the cell's"]
)
def test_the_largest_useful_batch_is_found_and_measured(first: int, bound: list[int]) -> None:
    scene = Scene(saturates_at(8))
    result = measured(scene, fake_cell(first, scenario="offline"))
    assert (result.columns["batch_size"], scene.bound) == (8, bound)
    assert result.samples == 8 * len(result.durations_ns)
    assert result.durations_ns[0] == pytest.approx(10 * MILLISECOND, abs=2)
    assert result.doubts == []


def fails_beyond(batch: int, error: Exception) -> Callable[[int], float]:
    def service(size: int) -> float:
        if size > batch:
            raise error
        return 0.01

    return service


TRIES = (
    "batch 1: 30 queries, 100.0 samples/s",
    "batch 2: 30 queries, 200.0 samples/s",
    "batch 4: 15 queries, 200.0 samples/s",
    "ended: batch 4 gains 5% or less over batch 2",
)
NO_GRAPH, NO_MEMORY = Unsupported("no prepared graph"), MemoryError("no more")


@pytest.mark.parametrize(
    ("service", "batch", "lines"),
    [
        (saturates_at(2), 2, TRIES),
        (fails_beyond(4, NO_GRAPH), 4, ["ended: batch 8 is not possible: no prepared graph"]),
        (fails_beyond(4, NO_MEMORY), 4, ["ended: batch 8 ran out of memory"]),
    ],
    ids=["gain", "not possible", "memory"],
)
def test_the_search_has_a_line_for_each_try_and_its_end(
    service: Callable[[int], float], batch: int, lines: Sequence[str]
) -> None:
    columns = measured(Scene(service)).columns
    assert columns["batch_size"] == batch
    assert columns["search"][-len(lines) :] == list(lines)


def test_a_gain_of_five_percent_is_no_longer_useful() -> None:
    def gains(share: float) -> Callable[[int], float]:
        return lambda size: 0.01 if size == 1 else 0.01 * size / (1 + share)

    assert measured(Scene(gains(0.04))).columns["batch_size"] == 1
    assert measured(Scene(gains(0.06))).columns["batch_size"] == 2


def test_batches_end_at_1024() -> None:
    scene = Scene(lambda _: 0.01)
    result = measured(scene, fake_cell(256, scenario="offline"))
    assert scene.bound == [256, 512, 1024, 1024]
    assert result.columns["search"][-1] == "ended: batches beyond 1024 are not tried"


def test_a_batch_that_would_not_fit_into_memory_is_never_tried() -> None:
    scene = Scene(lambda _: 0.01, bytes_of=lambda size: 100 * MIB + 50 * MIB * size)
    result = measured(scene, limits=Limits(memory_bytes=1000 * MIB))
    assert max(scene.bound) == 8
    assert result.columns["batch_size"] == 8
    assert "batch 16 would need some 1.0 GB, and 0.8 GB" in result.columns["search"][-1]
    assert result.doubts == []


def test_other_failures_and_a_first_batch_that_does_not_fit_are_the_cells() -> None:
    with pytest.raises(RuntimeError, match="broken"):
        measured(Scene(fails_beyond(4, RuntimeError("broken"))))
    with pytest.raises(MemoryError):
        measured(Scene(fails_beyond(0, MemoryError("no more"))))


def test_a_search_that_time_ended_is_a_doubt_with_the_remedy() -> None:
    result = measured(Scene(lambda _: 3.0))
    ((grade, text),) = result.doubts
    assert (grade, result.columns["batch_size"]) == ("C", 1)
    assert text == "no time was left to try batch 2: raise measure.max_duration"
    slow = measured(Scene(lambda _: 15.0))
    assert slow.columns["search"][0].startswith("batch 1: 1 queries")


def test_the_first_query_is_the_first_at_that_batch() -> None:
    calls: list[int] = []

    def warms_up(size: int) -> float:
        calls.append(size)
        return 0.5 if calls.count(size) == 1 else 0.01 * max(1.0, size / 2)

    result = measured(Scene(warms_up))
    assert result.first_ns == pytest.approx(500 * MILLISECOND, abs=2)


def test_later_rounds_take_the_first_ones_batch_without_a_search() -> None:
    scene = Scene(saturates_at(8))
    cell = fake_cell(scenario="offline")
    job = a_job([cell], measure=MEASURE.model_copy(update={"rounds": 2}))
    job = job.model_copy(update={"round": 2})
    first = a_round(columns={"batch_size": 4, "search": ["batch 4: found"], "timed_region": "x"})
    result = measure_offline(scene.session, job, cell, scene.instruments([first]))
    assert scene.bound == [4]
    assert result.columns["batch_size"] == 4
    assert result.columns["search"] == ["batch 4: found"]
    assert result.samples == 4 * len(result.durations_ns)
