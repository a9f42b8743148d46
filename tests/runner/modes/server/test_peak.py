"""The search on simulated queues, whose true peaks are known from theory."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from runner.contract.job import PROFILES
from runner.measure.clock import NANOSECONDS
from runner.measure.energy import EnergyMeter
from runner.measure.statistics.percentiles import iterations_needed, quantile
from runner.modes.server.mode import measure_server
from runner.modes.server.peak import find_peak, tolerated
from runner.modes.server.serving import Server, ServerResult
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


@pytest.mark.parametrize("services", [5, 8])
@pytest.mark.parametrize("seed", range(3))
def test_the_peak_of_a_queue_with_fixed_service_is_found(services: int, seed: int) -> None:
    outcome = seek(slo_ms=services * SERVICE_S * 1000, seed=seed)
    assert outcome.columns["peak_qps"] == pytest.approx(true_peak_qps(services), rel=0.12)
    assert outcome.columns["slo_met"] is True
    assert outcome.doubts == []


def test_the_latencies_are_those_of_the_peak_and_each_trial_has_a_line() -> None:
    outcome = seek(slo_ms=50)
    assert len(outcome.durations_ns) >= iterations_needed(0.99) == 662
    assert quantile(outcome.durations_ns, 0.99) <= 50 * MILLISECOND
    achieved = len(outcome.durations_ns) / (outcome.window_ns / 1e9)
    assert achieved == pytest.approx(outcome.columns["peak_qps"], rel=0.1)
    assert outcome.window_ns > sum(outcome.service_ns)
    met, missed, *_, ended = outcome.columns["search"]
    assert re.fullmatch(r"50 qps: 2500 queries, p99 .* ms, met", met)
    assert re.fullmatch(r"75 qps: gave up after .* beyond 50 ms", missed)
    assert ended.startswith("ended: the peak lies between ")


def test_a_hopeless_trial_gives_up_with_the_first_latency_too_many() -> None:
    allowed = tolerated(662)
    met = np.array([1.0] * (662 - allowed) + [100.0] * allowed)
    missed = np.array([1.0] * (661 - allowed) + [100.0] * (allowed + 1))
    assert quantile(met.tolist(), 0.99) < 100
    assert quantile(missed.tolist(), 0.99) == 100


def test_the_seed_decides_the_search() -> None:
    assert seek(slo_ms=50, max_s=30, seed=1) != seek(slo_ms=50, max_s=30, seed=2)
    assert seek(slo_ms=50, max_s=30, seed=1) == seek(slo_ms=50, max_s=30, seed=1)


def test_service_that_varies_lowers_the_peak() -> None:
    generator = np.random.default_rng(7)
    varied = seek(50, 1000, service_ns=lambda: round(generator.exponential(SERVICE_NS)))
    # M/M/1: latencies are exponential with mean 1 / (1 / service - rate), so the peak is 7.9 qps,
    # and p99 of 662 of them spreads by some 10 %, which is worth as many qps.
    true_qps = 1 / SERVICE_S - math.log(100) / 0.050
    assert 0 < varied.columns["peak_qps"] < true_qps + 10


@pytest.mark.parametrize(
    ("slo_ms", "max_s", "met", "reason"),
    [
        (8, 300, False, r"a query alone takes 10 ms, beyond slo_ms 8: raise slo_ms"),
        (50, 10, None, r".*662 queries at 50 qps.*10 s were left: raise measure\.max_duration"),
    ],
    ids=["a query alone is too slow", "the budget has no room for a trial"],
)
def test_without_a_trial_there_is_no_peak_but_data_and_the_remedy(
    slo_ms: float, max_s: float, met: bool | None, reason: str
) -> None:
    outcome = seek(slo_ms=slo_ms, max_s=max_s)
    (grade, text), (_, no_trial) = outcome.doubts
    assert no_trial.startswith("no trial was run: these are the warm-up's queries")
    assert (grade, outcome.columns["peak_qps"], outcome.columns["slo_met"]) == ("D", None, met)
    assert (outcome.columns["achieved_qps"], outcome.columns["throughput"]) == (None, None)
    assert re.fullmatch(reason, text)
    assert len(outcome.durations_ns) == 10
    assert outcome.energy.method.startswith("unavailable")


@pytest.mark.parametrize(
    ("slo_ms", "max_s", "peak_qps", "met", "reason"),
    [
        (50, 25, 50, True, r"the peak lies between 50 and .*raise measure\.max_duration"),
        (10.5, 100, None, False, ".*"),
    ],
    ids=["the best rate so far", "missed rates alone"],
)
def test_a_budget_that_ends_early_gives_what_was_found(
    slo_ms: float, max_s: float, peak_qps: float | None, met: bool, reason: str
) -> None:
    outcome = seek(slo_ms=slo_ms, max_s=max_s)
    ((grade, text),) = outcome.doubts
    assert (grade, outcome.columns["peak_qps"], outcome.columns["slo_met"]) == ("D", peak_qps, met)
    assert re.match(reason, text)


def test_a_trial_that_the_time_ends_decides_nothing() -> None:
    slow_later = iter([SERVICE_NS] * 300 + [40 * MILLISECOND] * 10_000)
    outcome = seek(slo_ms=60_000, max_s=14.5, service_ns=lambda: next(slow_later))
    trial, ended = outcome.columns["search"]
    assert "the time was spent after" in trial
    assert ended.startswith("ended: the peak lies between 0 and 100 qps")
    assert outcome.columns["peak_qps"] is None


def test_a_cell_that_seeks_its_peak_is_measured_like_any_other() -> None:
    scene = Scene(lambda _: SERVICE_S)
    cell: Any = fake_cell(scenario="server", slo_ms=50)
    job = a_job([cell], measure=PROFILES["standard"].model_copy(update={"max_s": 60}))
    result = measure_server(scene.session, job, cell, scene.instruments(), scene.sleep)
    assert result.columns["peak_qps"] == pytest.approx(true_peak_qps(5), rel=0.25)
    assert scene.phases == ["first", "warmup", "steady", "observe"]
    assert (result.settled, len(result.parts_ns["service"])) == (True, len(result.durations_ns))
