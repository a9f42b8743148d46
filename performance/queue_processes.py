"""Intervals of a queue's records of one process, and brackets of its peaks, when processes differ.

Each simulated process serves at a level of its own, lognormal around the machine's by the default
spread. At set rates the record's interval should hold the machine's median latency, and the bounds
of its percentiles the machine's percentiles; the bracket of a search for the peak should hold the
peak of the machine's usual process, whatever time the objective leaves to wait: each in 95 %, as
far as chance lets one tell, where at least half of the records have it. The runner's own search and
summary make them.
"""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from performance.peak_search import SERVICE_NS, Setting, search, true_peak
from performance.queue_percentiles import latencies
from performance.sessions import torch_job
from performance.simulated import a_result, chance, service_times, waiting_times
from runner.contract.cell import Cell
from runner.contract.job import PROFILES
from runner.contract.record import Columns
from runner.job.replication import Replicated, replicate
from runner.measure.clock import NANOSECONDS
from runner.measure.statistics.replication import DEFAULT_SPREAD
from runner.measure.statistics.spread import Floats
from runner.measure.statistics.summary import summarise
from runner.modes.server.serving import SERVICE

LOADS = (0.2, 0.4, 0.6, 0.8, 0.9)
OBJECTIVES = (1.5, 2.0, 3.0, 5.0, 20.0)
"""By the mean service time."""
VARIATION = 0.1
SERVICE_S = SERVICE_NS / NANOSECONDS
WINDOW_S = 60.0
RECORDS = 200
SEARCHES = 40
LEAST_HELD = 0.95
USUAL = 0.5
"""Share of records with ends from which on these are judged: those few that a queue near its limit
supports are its luckiest."""
FRACTIONS = {"median": 0.5, "p90": 0.9, "p99": 0.99}
TRUTH_QUERIES = 2_000_000
JOB = torch_job("bert-tiny", PROFILES["standard"])

Ends = Mapping[str, tuple[float, float] | None]
"""By name, the ends between which the machine's number should lie; None where there are none."""


def main() -> int:
    """Simulate records at every load and searches for every objective; 1 if a limit is missed."""
    held = True
    for load in LOADS:
        records = [record(load, seed) for seed in range(RECORDS)]
        held &= report("load", load, records, true_latencies(load))
    for objective in OBJECTIVES:
        setting = Setting(VARIATION, objective, "standard")
        peaks = [peak(setting, seed) for seed in range(SEARCHES)]
        held &= report("objective", objective, peaks, {"peak": true_peak(VARIATION, objective)})
    return int(not held)


def report(what: str, value: float, outcomes: Sequence[Ends], truth: Mapping[str, float]) -> bool:
    """Print how many hold the truth of those given; False if usual ones hold it too seldom."""
    held, words = True, []
    data: dict[str, Any] = {"measurement": "queue_processes", what: value}
    for name, true in truth.items():
        given = [pair for one in outcomes if (pair := one[name]) is not None]
        if given:
            share = fmean(low <= true <= high for low, high in given)
            is_usual = len(given) >= USUAL * len(outcomes)
            held &= not is_usual or share >= LEAST_HELD - chance(LEAST_HELD, len(given))
            words.append(f"{name} {share:.1%} of {len(given)}")
            data |= {name: share, f"{name}_given": len(given)}
    print(f"{what} {value:g}: {', '.join(words)}{'' if held else '  MISSED'}")
    print(json.dumps(data | {"held": held}), flush=True)
    return held


def record(load: float, seed: int) -> Ends:
    """The ends of one process' record, at a rate that loads the machine's usual process so."""
    random = np.random.default_rng([seed, round(load * 100)])
    count = round(WINDOW_S * load / SERVICE_S)
    service = a_level(random) * service_times(random, count, VARIATION)
    waiting = waiting_times(service, random.exponential(1 / load, count - 1))
    cell = served(target_qps=load / SERVICE_S)
    summary = replicated(cell, waiting + service, service).summary
    return {
        name: ends(
            getattr(summary, f"latency_{name}_low_s"), getattr(summary, f"latency_{name}_high_s")
        )
        for name in FRACTIONS
    }


def peak(setting: Setting, seed: int) -> Ends:
    """The ends of the bracket of one process' search."""
    level = a_level(np.random.default_rng([seed, round(setting.objective * 10)]))
    result = search(setting, seed, level)
    cell = served(slo_ms=1000 * setting.objective * SERVICE_S)
    times = (np.asarray(values) / SERVICE_NS for values in (result.durations_ns, result.service_ns))
    columns = {**result.columns, **replicated(cell, *times, result.columns).bracket}
    return {"peak": ends(columns["peak_qps_low"] or 0.0, columns["peak_qps_high"])}


def a_level(random: np.random.Generator) -> float:
    """The level of a process by the machine's."""
    return math.exp(DEFAULT_SPREAD.deviation * random.standard_normal())


def served(**changes: float) -> Cell:
    """A cell of the scenario `server`."""
    return JOB.cells[0].model_copy(update={"scenario": "server", **changes})


def replicated(
    cell: Cell, latency: Floats, service: Floats, columns: Columns | None = None
) -> Replicated:
    """What the runner makes of one process' times, given by the mean service time."""
    durations, services = (
        (SERVICE_NS * times).astype(int).tolist() for times in (latency, service)
    )
    summary = summarise(durations, samples=len(durations), steady_ns=sum(durations))
    parts = {"parts_ns": {SERVICE: services}, "columns": dict(columns or {})}
    return replicate(summary, JOB, cell, [a_result(durations).model_copy(update=parts)])


def ends(low: float | None, high: float | None) -> tuple[float, float] | None:
    """Both ends, if they are given."""
    return None if low is None or high is None else (low, high)


def true_latencies(load: float) -> dict[str, float]:
    """The median and percentiles of the machine's usual process, seconds."""
    values = latencies(load, VARIATION, TRUTH_QUERIES, np.random.default_rng(1))
    truth = np.quantile(values[TRUTH_QUERIES // 50 :], list(FRACTIONS.values()))
    return {name: SERVICE_S * float(value) for name, value in zip(FRACTIONS, truth, strict=True)}


if __name__ == "__main__":
    sys.exit(main())
