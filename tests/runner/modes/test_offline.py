from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.job import Limits, Measure
from runner.contract.record.verdict import Doubt
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
    ("first", "doubled"),
    [(1, [1, 2, 4, 8, 16, 32]), (4, [4, 8, 16, 32])],
    ids=["one", "the cell's"],
)
def test_the_smallest_of_the_best_batches_is_found_and_measured(
    first: int, doubled: list[int]
) -> None:
    scene = Scene(saturates_at(8))
    result = measured(scene, fake_cell(first, scenario="offline"))
    assert result.columns["batch_size"] == 8
    again = scene.bound[len(doubled) :]
    assert (scene.bound[: len(doubled)], again) == (doubled, [8, 8, 32, 32, 8, 8, 32, 8])
    assert result.samples == 8 * len(result.durations_ns)
    assert result.durations_ns[0] == pytest.approx(10 * MILLISECOND, abs=2)
    assert result.doubts == []


def test_the_curve_has_a_row_for_each_batch() -> None:
    scene = Scene(saturates_at(2), bytes_of=lambda size: 100 * MIB + MIB * size)
    columns = measured(scene).columns
    assert columns["offline_batches"] == [1, 2, 4, 8]
    assert columns["offline_throughputs"] == pytest.approx([100, 200, 200, 200], rel=1e-6)
    assert columns["offline_latencies_s"] == pytest.approx([0.01, 0.01, 0.02, 0.04], rel=1e-6)
    assert columns["offline_memory_bytes"] == [(100 + size) * MIB for size in (1, 2, 4, 8)]
    assert all(queries >= 3 for queries in columns["offline_queries"])


def fails_beyond(batch: int, error: Exception) -> Callable[[int], float]:
    def service(size: int) -> float:
        if size > batch:
            raise error
        return 0.01

    return service


NO_GRAPH, NO_MEMORY = Unsupported("no prepared graph"), MemoryError("no more")


def test_batches_that_gain_double_as_long_as_memory_lasts() -> None:
    scene = Scene(lambda _: 0.01, bytes_of=lambda size: MIB * size // 10)
    result = measured(
        scene, fake_cell(256, scenario="offline"), limits=Limits(memory_bytes=1000 * MIB)
    )
    assert (scene.bound[:3], max(scene.bound)) == ([256, 512, 1024], 4096)
    assert "batch 8192 would need" in result.columns["search"][-1]


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


def test_a_batch_that_may_be_better_costs_the_grade() -> None:
    random = np.random.default_rng(1)
    result = measured(Scene(lambda size: 0.01 * size * random.uniform(0.5, 1.5)), max_s=20)
    doubt = result.doubts[-1]
    assert (doubt.code, doubt.remedy) == ("batch_choice", "raise_duration")
    assert doubt.facts.keys() == {"batch", "over"}
    assert doubt.grade in "BCD"


@pytest.mark.parametrize("tries", [1, 4], ids=["at once", "after three pairs"])
def test_a_batch_that_fits_no_more_leaves_the_smaller_one(tries: int) -> None:
    def service(size: int) -> float:
        if size == 128 and scene.bound.count(128) > tries:
            raise NO_MEMORY
        swing = 1.04 if tries > 1 and scene.bound.count(128) % 2 == 0 else 1.0
        return 0.01 * max(1.0, size / 32) * (swing if size == 128 else 1.0)

    scene = Scene(service)
    result = measured(scene)
    assert result.columns["batch_size"] == 32
    assert result.doubts == [Doubt("batch_memory", "B", 128, "free_memory", {"over": "32"})]


def test_later_rounds_take_the_first_ones_batch_without_a_search() -> None:
    scene = Scene(saturates_at(8))
    cell = fake_cell(scenario="offline")
    job = a_job([cell], measure=MEASURE.model_copy(update={"rounds": 2}))
    job = job.model_copy(update={"round": 2})
    found = {"batch_size": 4, "search": ["batch 4: found"], "offline_batches": [4]}
    first = a_round(columns={**found, "timed_region": "x"})
    result = measure_offline(scene.session, job, cell, scene.instruments([first]))
    assert scene.bound == [4]
    assert {name: result.columns[name] for name in found} == found
    assert result.samples == 4 * len(result.durations_ns)
