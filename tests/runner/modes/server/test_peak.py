"""The search on simulated queues, whose true peaks are known from theory."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from runner.contract.job import PROFILES
from runner.contract.record.verdict import Doubt
from runner.measure.clock import NANOSECONDS
from runner.measure.energy import EnergyMeter
from runner.measure.statistics.percentiles import iterations_needed, quantile
from runner.modes.server.mode import PeakSearch, ServerResult, find_peak, measure_server
from runner.modes.server.rates import RateTrials
from runner.modes.server.serving import Server
from tests.support.fakes import FakeClock
from tests.support.jobs import a_job, fake_cell
from tests.support.scene import MILLISECOND, Scene

SERVICE_S = 0.01
SERVICE_NS = 10 * MILLISECOND


def seek(
    slo_ms: float, max_s: float = 300, seed: int = 0, service_ns: Callable[[], int] | None = None
) -> ServerResult:
    clock = FakeClock()

    def query() -> int:
        duration = service_ns() if service_ns else SERVICE_NS
        clock.pass_by(duration)
        return duration

    def sleep(seconds: float) -> None:
        clock.pass_by(round(seconds * NANOSECONDS))

    server = Server(query, clock, sleep, EnergyMeter(list, clock))
    job = a_job(measure=PROFILES["standard"].model_copy(update={"max_s": max_s}))
    job = job.model_copy(update={"seed": seed})
    warmup: Sequence[int] = [5 * SERVICE_NS, *[SERVICE_NS] * 9]
    return find_peak(server, warmup, fake_cell(scenario="server", slo_ms=slo_ms), job)


def waits_at_most(services: int, load: float) -> float:
    """P(wait <= services × service time) in an M/D/1 queue.

    Erlang (1909); e.g. Tijms, "A First Course in Stochastic Models" (2003), 9.6.3.
    """
    return (1 - load) * math.fsum(
        (load * (k - services)) ** k / math.factorial(k) * math.exp(-load * (k - services))
        for k in range(services + 1)
    )


def true_peak_qps(services: int) -> float:
    """The rate at which 99 % of latencies are within so many service times."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if waits_at_most(services - 1, middle) >= 0.99 else (low, middle)
    return low / SERVICE_S


@pytest.mark.representatives(2)
@pytest.mark.parametrize("services", [5, 8])
@pytest.mark.parametrize("seed", range(3))
def test_the_bracket_holds_the_peak_of_a_queue_with_fixed_service(services: int, seed: int) -> None:
    outcome = seek(slo_ms=services * SERVICE_S * 1000, seed=seed)
    columns, truth = outcome.columns, true_peak_qps(services)
    assert columns["peak_qps"] == columns["peak_qps_low"]
    assert 0.6 * truth < columns["peak_qps_low"] <= truth <= columns["peak_qps_high"] < 1.4 * truth
    assert columns["slo_met"] is True
    (doubt,) = outcome.doubts
    assert (doubt.code, doubt.remedy) == ("peak_bracket", "raise_duration")
    assert doubt.grade in "CD"


@pytest.mark.parametrize(
    ("verified", "high", "grades"),
    [(True, 102.0, ""), (None, 102.0, "C"), (None, 111.0, "CC"), (True, 111.0, "C")],
)
def test_a_peak_that_fresh_schedules_did_not_verify_is_doubted(
    verified: bool | None, high: float, grades: str
) -> None:
    trials = RateTrials(100.0, 50.0, [0, 0], 1.0, verdict=True, verified=verified)
    end = Doubt("peak_bracket", "D", 1.0, "raise_duration")
    doubts = PeakSearch([trials], 100.0, high, "the bracket", end).doubts
    assert "".join(doubt.grade for doubt in doubts) == grades
    unverified = Doubt("peak_unverified", "C", 100.0, "raise_duration")
    assert (unverified in doubts) is not verified


def test_a_machine_that_slows_down_has_no_verified_peak() -> None:
    queries = iter(range(10**9))
    slow = seek(slo_ms=50, service_ns=lambda: SERVICE_NS * (1 if next(queries) < 9000 else 3))
    lines = [line for line in slow.columns["search"] if line.endswith("by fresh schedules")]
    assert lines
    assert "rejected by fresh schedules" in lines[0]
    assert slow.columns["peak_qps"] is None or any("verified" in text for _, text in slow.doubts)


@pytest.mark.slow
def test_more_time_narrows_the_bracket_and_betters_the_grade() -> None:
    short, long = (seek(slo_ms=50, max_s=max_s) for max_s in (200, 3000))
    widths = [run.columns["peak_qps_high"] - run.columns["peak_qps_low"] for run in (short, long)]
    assert widths[1] < 0.7 * widths[0]
    assert [doubt.grade for doubt in long.doubts] <= [doubt.grade for doubt in short.doubts]


def test_the_latencies_are_those_of_the_peak_and_each_rate_has_a_line() -> None:
    outcome = seek(slo_ms=50)
    assert len(outcome.served.latencies_ns) >= iterations_needed(0.99) == 662
    assert quantile(outcome.served.latencies_ns, 0.99) <= 50 * MILLISECOND
    achieved = len(outcome.served.latencies_ns) / (outcome.served.window_ns / 1e9)
    assert achieved == pytest.approx(outcome.columns["peak_qps"], rel=0.1)
    assert outcome.served.window_ns > sum(outcome.served.service_ns)
    *trials, ended = outcome.columns["search"]
    form = r".* qps: .* queries worth .*, p99 .* ms, (\w+)(?:, verified)?"
    words = [re.fullmatch(form, line) for line in trials]
    verdicts = [match[1] for match in words if match]
    assert len(verdicts) == len(trials)
    assert {"accepted", "rejected"} <= set(verdicts)
    assert [line.endswith("accepted, verified") for line in trials].count(True) == 1
    assert ended.startswith("ended: the peak of this process lies between ")


def test_a_query_that_is_too_slow_alone_leaves_the_warmup_and_the_remedy() -> None:
    outcome = seek(slo_ms=8)
    alone, no_trial = outcome.doubts
    assert (alone.code, alone.grade, alone.value) == ("hopeless_rate", "D", pytest.approx(10))
    assert no_trial.code == "no_trial"
    assert (outcome.columns["peak_qps"], outcome.columns["slo_met"]) == (None, False)
    assert outcome.columns["peak_qps_high"] is None
    assert (outcome.columns["achieved_qps"], outcome.columns["throughput"]) == (None, None)
    assert len(outcome.served.latencies_ns) == 10
    assert outcome.energy.method.startswith("unavailable")


def test_a_budget_that_has_no_room_for_a_verdict_gives_what_was_found() -> None:
    outcome = seek(slo_ms=50, max_s=4)
    (doubt,) = outcome.doubts
    assert (doubt.code, doubt.grade) == ("peak_bracket", "D")
    assert (outcome.columns["peak_qps"], outcome.columns["slo_met"]) == (None, None)
    assert "undecided" in outcome.columns["search"][0]


def test_a_cell_that_seeks_its_peak_is_measured_like_any_other() -> None:
    scene = Scene(lambda _: SERVICE_S)
    cell: Any = fake_cell(scenario="server", slo_ms=50)
    job = a_job([cell], measure=PROFILES["standard"].model_copy(update={"max_s": 150}))
    result = measure_server(scene.session, job, cell, scene.instruments(), scene.sleep)
    low, high = result.columns["peak_qps_low"], result.columns["peak_qps_high"]
    assert low <= true_peak_qps(5) <= high
    assert scene.phases == ["first", "warmup", "steady", "observe"]
    assert (result.settled, len(result.parts_ns["service"])) == (True, len(result.durations_ns))
