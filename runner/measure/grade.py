"""Grade of a cell's numbers, from the doubts about them."""

import math
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from runner.contract.host import FrequencyPolicy
from runner.contract.job import Measure
from runner.contract.record.identity import Host
from runner.contract.record.verdict import (
    BIAS,
    Doubt,
    DoubtCode,
    Grade,
    RemedyCode,
    Scale,
    doubt,
    scaled,
)
from runner.contract.rounds import RoundResult
from runner.measure.clock import seconds
from runner.measure.page_faults import KEEPING, page_fault_columns
from runner.measure.statistics.percentiles import NEEDED, fewest
from runner.measure.statistics.summary import LatencySummary


@dataclass(frozen=True)
class Conditions:
    """Facts that hold for all cells of a job."""

    environment: Host
    clock_resolution_s: float
    harness_overhead_s: float


DRIFT = Scale(b=0.02, c=0.05, d=0.20)
"""As `BIAS`, but clock frequencies wander by a percent or two from minute to minute."""
IMPRECISION = Scale(b=0.0, c=0.05, d=0.20)
"""Likewise, once the precision that was asked for is missed."""
VARIATION = Scale(b=0.10, c=0.30, d=1.00)
"""Deviation by mean: 5 to 8 % on an almost idle host of two cores, 111 % at a load of 3, measured
with bert-tiny."""
SPREAD = Scale(b=0.10, c=0.50)
"""Of a kernel that should take the same time always; 20 repeats can't condemn a cell, so no D."""
SHIFT = Scale(b=0.05, c=0.15)  # of the same kernel's median, whose own noise is 1 to 3 %
OTHER_LOAD = Scale(b=0.05, c=0.10, d=0.20)
"""Share of the CPU time; a daemon or two take less than 5 %. Beyond 20 %, medians of minutes apart
differed by factors, not by the 20 % that C promises."""
OTHER_CORES = Scale(b=0.1, c=0.5)
"""The same in cores: on a large machine one busy core is a small share, and yet an operator whose
threads wait for each other waits for the one that shares it."""
LOAD_AVERAGE = Scale(b=1.25, c=2.0, d=4.0)
"""By cores. It still remembers our own earlier cells, which keep every core busy."""
DEPENDENCE = 5.0
"""Iterations that count as one independent one. The interval allows for it, but a host whose noise
repeats for so long has noise longer than the cell. Of independent iterations, one cell in a hundred
seems to need more than 3."""
HELD = 0.01
"""Share of the time for which a clock may be held down: it moves a median by less than that."""
PAGE_FAULTS = Scale(b=0.05, c=math.inf)
"""Share of the time that page faults may take: an allocator that keeps memory saves it."""
_NEW_MEMORY = 1.0
"""Faults of an iteration below which it has no new memory: lists of durations grow as well."""
_CHOSEN_REASONS = ("SyncBoost",)
"""Reasons for a low GPU clock that the user chose, so that the clock stays the same."""
_POWER_REASONS = ("Power", "PackagePower")
"""The power limit holds the clock down evenly, all other reasons come and go."""


def grade_of(doubts: Iterable[Doubt]) -> Grade:
    return max((doubt.grade for doubt in doubts), default="A")


def doubts_of(
    summary: LatencySummary,
    measure: Measure,
    rounds: Sequence[RoundResult],
    conditions: Conditions,
    service: LatencySummary | None = None,
) -> list[Doubt]:
    """All doubts about a cell's numbers.

    `service` summarises the queries without their time in the queue, if they waited: latencies in
    a queue scatter and depend on each other by nature, service times don't.
    """
    cores = conditions.environment.cpu_cores_logical or 1
    doubts = chain(
        _warmup(rounds),
        _count(summary, measure),
        imprecision("latency", summary.latency_precision, measure),
        _scatter(service or summary),
        _load(rounds, cores),
        _governor(conditions.environment),
        _quota(rounds),
        _noise(rounds, cores),
        _throttling(rounds),
        _instrument(service or summary, conditions),
        _page_faults(rounds, service or summary, conditions.environment),
    )
    return list(doubts)


def _warmup(rounds: Sequence[RoundResult]) -> Iterator[Doubt]:
    unsettled = [len(result.warmup_ns) for result in rounds if result.settled is False]
    if unsettled:
        yield doubt("warmup", "C", max(unsettled), "raise_warmup")


def _count(summary: LatencySummary, measure: Measure) -> Iterator[Doubt]:
    count = summary.iterations
    if count < measure.iterations:
        facts = {"requested": measure.iterations, "limit_s": measure.max_s}
        yield doubt("few_iterations", "B", count, "raise_duration", **facts)
    if count < NEEDED["p50"]:
        grade: Grade = "D" if count < fewest() else "C"
        fits = count >= measure.iterations
        remedy: RemedyCode = "raise_iterations" if fits else "raise_duration"
        yield doubt("too_few_for_median", grade, count, remedy, needed=NEEDED["p50"])


def imprecision(median: str, reached: float | None, measure: Measure) -> Iterator[Doubt]:
    """The doubt about a median, by its column, that is less precise than was asked for."""
    requested = measure.precision_target
    if reached is None or reached <= requested:
        return
    remedy: RemedyCode = "raise_rounds" if measure.most_rounds > 1 else "raise_duration"
    facts = {"median": median, "requested": requested}
    yield from scaled(IMPRECISION, reached, "imprecise", remedy, reached, **facts)


def _scatter(summary: LatencySummary) -> Iterator[Doubt]:
    cv, count, effective = summary.latency_cv, summary.iterations, summary.effective_iterations
    if cv is not None:
        yield from scaled(VARIATION, cv, "scatter", "longer_or_quieter", cv)
    if count > DEPENDENCE * effective:
        grade: Grade = "C" if effective < NEEDED["p50"] else "B"
        remedy: RemedyCode = "raise_min_duration_and_rounds"
        yield doubt("autocorrelation", grade, effective, remedy, iterations=count)


def _load(rounds: Sequence[RoundResult], cores: int) -> Iterator[Doubt]:
    load = max(result.load_average_1m for result in rounds)
    yield from scaled(LOAD_AVERAGE, load / cores, "host_load", "stop_others", load, cores=cores)


def _governor(host: Host) -> Iterator[Doubt]:
    policy = FrequencyPolicy(host.cpu_governor, host.cpu_scaling_driver, host.cpu_energy_preference)
    if policy.keeps_clocks_low:
        yield doubt("governor", "B", None, "governor")


def _quota(rounds: Sequence[RoundResult]) -> Iterator[Doubt]:
    """The doubt about threads that a quota stops; counted for each CPU, from the warm-up on."""
    watched = [(result, sum(result.warmup_ns) + result.steady_ns) for result in rounds]
    held = ((result.noise.throttled_s or 0.0) / seconds(ns) for result, ns in watched if ns)
    share = min(1.0, max(held, default=0.0))
    yield from scaled(BIAS, share, "quota", "lift_quota", share)


def _noise(rounds: Sequence[RoundResult], cores: int) -> Iterator[Doubt]:
    noises = [result.noise for result in rounds]
    steal = max((noise.steal or 0.0 for noise in noises), default=0.0)
    yield from scaled(BIAS, steal, "steal", "own_host", steal)
    other = max((noise.other_load or 0.0 for noise in noises), default=0.0)
    yield from scaled(OTHER_LOAD, other, "other_load", "stop_them", other)
    spread = max(max(noise.kernel_spread_before, noise.kernel_spread_after) for noise in noises)
    yield from scaled(SPREAD, spread, "kernel_spread", "quieter", spread)
    shift = max((noise.kernel_shift for noise in noises), key=abs)
    yield from scaled(SHIFT, abs(shift), "kernel_shift", "fix_clock", shift)
    # Others' load in cores, where their share of a large machine is small.
    if (OTHER_CORES.grade(other * cores) or "A") > (OTHER_LOAD.grade(other) or "A"):
        busy = other * cores
        yield from scaled(OTHER_CORES, busy, "busy_cores", "stop_them", busy, cores=cores)


def _throttling(rounds: Sequence[RoundResult]) -> Iterator[Doubt]:
    """Doubts about what held the clocks of accelerator and processor down, in the worst round."""
    shares: dict[str, float] = {}
    for result in rounds:
        for reason, share in ((result.device and result.device.throttled) or {}).items():
            shares[reason] = max(share, shares.get(reason, 0.0))
    for reason, share in shares.items():
        if reason not in _CHOSEN_REASONS and share > HELD:
            grade: Grade = "B" if reason in _POWER_REASONS else "C"
            yield doubt("accelerator_held", grade, share, "hold_clock", held_by=reason)
    heated = [
        (result.cpu_clock.throttled_s or 0.0) / (seconds(result.steady_ns) or math.inf)
        for result in rounds
        if result.cpu_clock and result.cpu_clock.throttle_events
    ]
    if heated:
        hottest = max(heated)
        grade = BIAS.grade(hottest) or "B"
        yield doubt("processor_heat", grade, min(1.0, hottest), "cool_processor")


def _instrument(summary: LatencySummary, conditions: Conditions) -> Iterator[Doubt]:
    costs_s: Mapping[DoubtCode, float] = {
        "clock_resolution": conditions.clock_resolution_s,
        "harness_overhead": conditions.harness_overhead_s,
    }
    for code, cost_s in costs_s.items():
        share = cost_s / summary.latency_median_s if summary.latency_median_s else math.inf
        yield from scaled(BIAS, share, code, "larger_query", share)


def _page_faults(
    rounds: Sequence[RoundResult], summary: LatencySummary, host: Host
) -> Iterator[Doubt]:
    """The doubt about time that new memory takes, at most: threads that fault at once share it."""
    columns = page_fault_columns(rounds)
    if columns.get("page_faults", 0.0) < _NEW_MEMORY:
        return
    cost_s = columns["page_faults"] * columns["page_fault_s"]
    share = min(1.0, cost_s / summary.latency_mean_s) if summary.latency_mean_s else 1.0
    keeps = set(KEEPING) <= (host.environment_variables or {}).keys()
    is_glibc = platform.libc_ver()[0] == "glibc"
    remedy: RemedyCode = "keep_memory" if is_glibc and not keeps else "smaller_batch"
    yield from scaled(PAGE_FAULTS, share, "page_faults", remedy, share)
