from typing import Any

import pytest

from runner.contract.cell import Cell
from runner.contract.errors import BenchError
from runner.contract.job import Job, Measure
from runner.contract.rounds import RoundResult
from runner.modes.server.mode import measure_server, overload
from runner.modes.server.serving import LONGEST_RUN, Served
from tests.support.jobs import a_job, fake_cell
from tests.support.records import a_round
from tests.support.scene import MILLISECOND, Scene
from tests.support.words import raises_words

MEASURE = Measure(
    profile="quick",
    warmup_iterations=3,
    warmup_max_s=2,
    iterations=50,
    min_s=2,
    max_s=20,
    precision_target=0.5,
)


def a_server_cell(**changes: Any) -> Cell:
    return fake_cell(scenario="server", **{"target_qps": 50} | changes)


def measured(scene: Scene, cell: Cell, job: Job | None = None, **changes: Any) -> RoundResult:
    job = job or a_job([cell], measure=MEASURE.model_copy(update=changes))
    return measure_server(scene.session, job, cell, scene.instruments(), scene.sleep)


def test_count_and_time_are_met_at_the_offered_rate() -> None:
    scene = Scene(bytes_of=lambda batch: 100 * batch)
    result = measured(scene, a_server_cell(target_qps=50))
    assert scene.phases == ["first", "warmup", "steady", "observe"]
    assert result.doubts == []
    assert len(result.durations_ns) >= 50
    assert result.steady_ns >= 2e9
    assert len(result.durations_ns) / (result.steady_ns / 1e9) == pytest.approx(50, rel=0.3)
    # The window is from the first arrival to the last end, not the sum of the latencies.
    assert sum(result.durations_ns) < result.steady_ns
    assert result.memory.peak_bytes == 100
    assert result.memory.average_bytes is not None
    rare = measured(Scene(), a_server_cell(target_qps=5, batch_size=4))
    assert rare.samples == 4 * len(rare.durations_ns) >= 4 * 50
    assert rare.steady_ns == pytest.approx(10e9, rel=0.4)


def test_latency_holds_the_wait_and_service_does_not() -> None:
    result = measured(Scene(), a_server_cell(target_qps=60))
    service = result.parts_ns["service"]
    assert len(service) == len(result.durations_ns)
    assert set(service) == {10 * MILLISECOND + 1}
    assert max(result.durations_ns) > 15 * MILLISECOND
    assert "waiting included" in result.columns["timed_region"]


def test_rounds_take_their_share_and_have_schedules_of_their_own() -> None:
    cell = a_server_cell()
    job = a_job([cell], measure=MEASURE.model_copy(update={"rounds": 2, "precision_target": 9.0}))
    first, second = (
        measured(Scene(), cell, job.model_copy(update={"round": number})) for number in (1, 2)
    )
    assert first.steady_ns == pytest.approx(1e9, rel=0.3)
    assert first.durations_ns != second.durations_ns[: len(first.durations_ns)]


def test_measuring_goes_on_until_the_median_is_precise_or_the_time_is_spent() -> None:
    cell = a_server_cell(target_qps=50)
    short = measured(Scene(), cell)
    precise = measured(Scene(), cell, precision_target=0.12)
    endless = measured(Scene(), cell, precision_target=1e-9)
    assert short.steady_ns < precise.steady_ns < endless.steady_ns
    assert endless.steady_ns == pytest.approx(20e9, rel=0.02)


def test_rounds_before_count_for_the_precision() -> None:
    cell = a_server_cell()
    measure = MEASURE.model_copy(update={"rounds": 2, "precision_target": 0.01})
    job = a_job([cell], measure=measure).model_copy(update={"round": 2})
    scene = Scene()
    known = scene.instruments([a_round([11 * MILLISECOND] * 5000)])
    result = measure_server(scene.session, job, cell, known, scene.sleep)
    assert result.steady_ns < 2e9


def test_a_rate_beyond_the_capacity_is_a_doubt_with_the_remedy() -> None:
    result = measured(Scene(lambda _: 0.05), a_server_cell(target_qps=50))
    (doubt,) = result.doubts
    assert (doubt.code, doubt.grade, doubt.remedy) == ("queue_grew", "D", "lower_rate")
    rates = {name: round(float(rate)) for name, rate in doubt.facts.items()}
    assert rates == {"offered_qps": 50, "completed_qps": 20, "most_qps": 20}
    assert result.steady_ns == pytest.approx(LONGEST_RUN * 20e9, rel=0.01)


def test_a_queue_that_the_budget_cut_off_is_a_doubt() -> None:
    held_up = Served([1], [10 * MILLISECOND] * 90, [], waiting=10, window_ns=10**9)
    (doubt,) = overload(held_up, 60)
    assert (doubt.code, doubt.grade, doubt.value) == ("queue_left", "C", 10)


def test_outputs_must_be_finite() -> None:
    with raises_words(BenchError, match="NaN or infinity"):
        measured(Scene(finite=False), a_server_cell())
