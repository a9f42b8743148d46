"""Page faults of timed iterations, and what one costs."""

import mmap
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import pytest

from orchestrator.screen.words.doubts import INHERIT_KEEPING, KEEP_MEMORY
from runner.contract.job import PROFILES
from runner.contract.rounds import PageFaults, RoundResult
from runner.measure.page_faults import KEEPING, PageFaultMeter, page_fault_columns
from runner.modes.base import InferenceWorkload, measure_steadily
from runner.modes.server.mode import measure_server
from tests.support.jobs import a_job, fake_cell
from tests.support.records import a_round
from tests.support.scene import Scene

PAGES = 64
SHORT = PROFILES["quick"].model_copy(update={"iterations": 20, "min_s": 0.0})


def take_pages(_: int = 0) -> float:
    """Write to so many new pages and give them back, in ten milliseconds of a scene's clock."""
    with mmap.mmap(
        -1, PAGES * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    ) as memory:
        for page in range(PAGES):
            memory[page * mmap.PAGESIZE] = 1
    return 0.01


def measured(service_s: Callable[[int], float], **changes: Any) -> RoundResult:
    scene, job = Scene(service_s), a_job(measure=SHORT.model_copy(update=changes))
    make = partial(InferenceWorkload, scene.session, job, job.cells[0], scene.clock)
    return measure_steadily(make, scene.session, job, scene.instruments())


def test_new_memory_of_each_iteration_is_counted_with_what_a_page_costs() -> None:
    result = measured(take_pages)
    assert result.page_faults is not None
    columns = page_fault_columns([result])
    assert PAGES <= columns["page_faults"] < 2 * PAGES
    assert page_fault_columns([measured(lambda _: 0.01)])["page_faults"] < PAGES / 4
    assert 0 < columns["page_fault_s"] < 0.01


def test_what_happens_between_iterations_is_left_out() -> None:
    meter = PageFaultMeter(count=partial(next, count(100, 10)), cost_s=lambda: 1e-6)
    meter.begin()
    with meter.uncounted():
        pass
    meter.end()
    assert meter.read() == PageFaults(count=20, cost_s=1e-6)


def test_nothing_is_told_where_the_kernel_counts_none_or_iterations_run_elsewhere() -> None:
    meter = PageFaultMeter(count=lambda: 0, cost_s=lambda: None)
    for silent in (meter, PageFaultMeter(here=False)):
        silent.begin()
        silent.end()
        assert silent.read() is None


@pytest.mark.parametrize(("target_qps", "told"), [(50, True), (None, False)], ids=["rate", "peak"])
def test_a_search_of_a_peak_has_none_as_its_latencies_are_those_of_some_trials(
    target_qps: float | None, told: bool
) -> None:
    slo: dict[str, Any] = {} if target_qps else {"slo_ms": 100.0}
    cell = fake_cell(scenario="server", target_qps=target_qps, **slo)
    scene, job = Scene(), a_job([cell], measure=PROFILES["quick"].model_copy(update={"max_s": 5.0}))
    result = measure_server(scene.session, job, cell, scene.instruments(), scene.sleep)
    assert (result.page_faults is not None) is told


def test_rounds_count_by_their_iterations_and_all_must_know() -> None:
    rounds = [
        a_round([1] * iterations, page_faults=PageFaults(count=faults, cost_s=cost_s))
        for iterations, faults, cost_s in ((10, 100, 1e-6), (30, 500, 3e-6), (20, 0, 2e-6))
    ]
    assert page_fault_columns(rounds) == {"page_faults": 10.0, "page_fault_s": 2e-6}
    assert page_fault_columns([*rounds, a_round()]) == {}


def test_the_remedy_sets_and_passes_on_the_variables_by_which_grades_know_it() -> None:
    assert tuple(word.partition("=")[0] for word in KEEP_MEMORY.split()) == KEEPING
    assert INHERIT_KEEPING.split() == ["--inherit-environ", ",".join(KEEPING)]
