"""Columns of a record, summarised from the results of all its rounds."""

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from statistics import median
from typing import Any, TypeVar

import numpy as np

from runner.contract.cell import Cell
from runner.contract.job import Job, Measure
from runner.contract.reasons import facts_behind
from runner.contract.record.record import Columns
from runner.contract.record.verdict import Doubt, doubt, heaviest_first
from runner.contract.rounds import (
    Bursts,
    CpuClock,
    DeviceState,
    MemoryUse,
    Noise,
    RoundResult,
    raw_columns,
    total_energy,
)
from runner.job.replication import change_doubts, changes_of, process_doubts, replicate
from runner.measure.clock import NANOSECONDS, seconds
from runner.measure.grade import Conditions, doubts_of, grade_of, imprecision
from runner.measure.page_faults import page_fault_columns
from runner.measure.phases import GARBAGE_COLLECTION
from runner.measure.statistics.percentiles import BOUNDED, percentile_columns
from runner.measure.statistics.replication import (
    Processes,
    median_of_rounds,
    process_error,
    widened_percentiles,
)
from runner.measure.statistics.spread import Floats, Series
from runner.measure.statistics.summary import (
    LatencySummary,
    SecondsColumns,
    interval_columns,
    statistic_columns,
    summarise,
)
from runner.modes.generation import BETWEEN, PER_OUTPUT, TO_FIRST, token_throughputs, token_times
from runner.modes.server.serving import SERVICE
from runner.modes.startup.mode import startup_columns
from runner.modes.training import training_columns, training_doubts, training_totals

_JUDGED = (TO_FIRST, PER_OUTPUT)  # columns that are graded beside the latency


def summarise_tokens(
    job: Job, cell: Cell, rounds: Sequence[RoundResult]
) -> tuple[Columns, list[Doubt]]:
    """Columns and doubts about the times of tokens, as `replicate` has them of durations.

    Statistics are those of all rounds together, but for the judged medians: with several rounds
    each is the mean of the rounds' medians, whose interval stands beside it.
    """
    if cell.mode != "generation":
        return {}, []
    times = [token_times(result.parts_ns, result.durations_ns, cell) for result in rounds]
    by_name = {name: [values[name] for values in times] for name in (TO_FIRST, PER_OUTPUT, BETWEEN)}
    processes = Processes.of(job, rounds)
    columns: SecondsColumns = {}
    doubts: list[Doubt] = []
    for name, values in by_name.items():
        columns |= _bounded(name, values, processes)
        if name in _JUDGED:
            interval, judged = median_of_rounds(values, processes)
            columns |= interval_columns(name, interval)
            if interval and len(rounds) > 1:
                columns[f"{name}_median_s"] = interval.value / NANOSECONDS
            if judged:
                doubts += imprecision(name, judged.precision, job.measure)
    durations = list(chain.from_iterable(result.durations_ns for result in rounds))
    columns |= token_throughputs(_pooled(by_name[BETWEEN]), durations, cell)
    return columns, doubts


def _bounded(name: str, values: Sequence[Series], processes: Processes) -> SecondsColumns:
    """Statistics of all rounds together; bounds of percentiles hold for fresh processes."""
    pooled = _pooled(values)
    columns = statistic_columns(name, pooled, "mean", "median", "stddev")
    columns |= percentile_columns(name, pooled)
    if not len(pooled):
        return columns
    error = process_error(values, processes)
    return {**columns, **widened_percentiles(name, columns, dict.fromkeys(BOUNDED, error))}


def _pooled(values: Sequence[Series]) -> Floats:
    return np.concatenate([np.asarray(part, dtype=float) for part in values])


_Number = TypeVar("_Number", int, float)


def summarise_rounds(
    job: Job, cell: Cell, rounds: Sequence[RoundResult], conditions: Conditions
) -> dict[str, Any]:
    """Columns of the record: statistics, resources, noise and grade over all rounds."""
    raw = raw_columns(rounds)
    durations, parts_ns = raw["durations_ns"], raw["part_durations_ns"] or {}
    summary = summarise(
        durations,
        samples=sum(result.samples for result in rounds),
        steady_ns=sum(result.steady_ns for result in rounds),
        rounds=[len(result.durations_ns) for result in rounds],
    )
    measure = job.measure
    if cell.seeks_peak:  # its trials end with their queries, not with a precise median
        measure = measure.model_copy(update={"precision_target": math.inf, "iterations": 1})
    token_columns, token_doubts = summarise_tokens(job, cell, rounds)
    replicated = replicate(summary, job, cell, rounds)
    changes = changes_of(job, rounds)
    doubts = chain(
        doubts_of(replicated.judged, measure, rounds, conditions, _service(cell, rounds)),
        process_doubts(replicated, cell),
        change_doubts(changes),
        token_doubts,
        training_doubts(cell, rounds) if cell.mode == "training" else (),
    )
    return {
        **replicated.summary.columns,
        **replicated.columns,
        **changes.columns,
        "rounds": len(rounds),
        "round_iterations": [len(result.durations_ns) for result in rounds],
        **_bursts([result.bursts for result in rounds if result.bursts]),
        **_warmup(rounds, measure),
        **token_columns,
        **(training_columns(parts_ns) if cell.mode == "training" else {}),
        **(startup_columns(job, rounds) if cell.mode == "startup" else {}),
        **_arrivals(cell, summary, parts_ns),
        **_memory(rounds),
        **_energy(rounds, cell),
        **_noise([result.noise for result in rounds]),
        **page_fault_columns(rounds),
        **_cpu_clock([result.cpu_clock for result in rounds]),
        **_device([result.device for result in rounds if result.device]),
        **_grade([*_own_doubts(rounds), *doubts]),
        "load_average_1m": max(result.load_average_1m for result in rounds),
        "harness_overhead_s": conditions.harness_overhead_s,
        "garbage_collection": GARBAGE_COLLECTION,
        **raw,
        **dict(chain.from_iterable(result.columns.items() for result in rounds)),
        **(training_totals(rounds) if cell.mode == "training" else {}),
        **replicated.bracket,
    }


def _bursts(of_rounds: Sequence[Bursts]) -> Columns:
    if not of_rounds:
        return {}
    clocks_hz = list(chain.from_iterable(bursts.clocks_hz for bursts in of_rounds))
    return {
        "round_bursts": [len(bursts.iterations) for bursts in of_rounds],
        "burst_iterations": list(chain.from_iterable(one.iterations for one in of_rounds)),
        "burst_dropped": [bursts.dropped for bursts in of_rounds],
        "burst_rest_s": max(bursts.rest_s for bursts in of_rounds),
        "burst_clocks_hz": None if None in clocks_hz else clocks_hz,
    }


def _warmup(rounds: Sequence[RoundResult], measure: Measure) -> Columns:
    """The first query and the warm-up of the first round; settled only if every round was."""
    first = rounds[0]
    if first.first_ns is None:
        return {}
    return {
        "first_latency_s": seconds(first.first_ns),
        "warmup_iterations": len(first.heating_ns) + len(first.warmup_ns),
        "warmup_time_s": seconds(sum(first.heating_ns) + sum(first.warmup_ns)),
        "heat_s": measure.heat_s,
        "warmup_settled": all(result.settled is not False for result in rounds),
    }


def _arrivals(
    cell: Cell, summary: LatencySummary, parts_ns: Mapping[str, Sequence[int]]
) -> Columns:
    if cell.scenario != "server":
        return {}
    window_s, has_rate = summary.steady_time_s, summary.iterations > 1
    return {
        "achieved_qps": summary.iterations / window_s if window_s and has_rate else None,
        "service_median_s": median(parts_ns[SERVICE]) / NANOSECONDS,
    }


def _memory(rounds: Sequence[RoundResult]) -> Columns:
    """The highest peak of any round; the average of the last one."""
    highest: dict[str, int | None] = {}
    for name in MemoryUse.model_fields.keys() - {"average_bytes"}:
        peaks = [getattr(result.memory, name) for result in rounds]
        known = (peak for peak in peaks if peak is not None)
        highest[f"memory_{name}"] = max(known, default=None)
    return {**highest, "memory_average_bytes": rounds[-1].memory.average_bytes}


def _energy(rounds: Sequence[RoundResult], cell: Cell) -> Columns:
    """Energy of all rounds, if each has it; windows of starts hold more than their times."""
    total = total_energy([result.energy for result in rounds])
    if total.joules is None:
        return {"energy_method": total.method}
    samples = sum(result.samples for result in rounds)
    tokens = samples * cell.new_tokens if cell.new_tokens else None
    return {
        **{f"energy_{name}": value for name, value in total.model_dump().items()},
        "energy_per_sample_joules": None if cell.mode == "startup" else total.joules / samples,
        "energy_per_token_joules": total.joules / tokens if tokens else None,
    }


def _noise(noises: Sequence[Noise]) -> Columns:
    """The noisiest round; what a quota held back and others interrupted in all of them."""
    worst = max(noises, key=lambda noise: noise.score)
    values = {f"noise_{name}": value for name, value in worst.model_dump().items()}
    return {
        **values,
        "noise_score": worst.score,
        "noise_throttled_periods": _total([noise.throttled_periods for noise in noises]),
        "noise_involuntary_switches": _total([noise.involuntary_switches for noise in noises]),
        "noise_throttled_s": _total([noise.throttled_s for noise in noises]),
    }


def _total(values: Sequence[_Number | None]) -> _Number | None:
    """The sum of values; None if one is not known."""
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if len(known) == len(values) and known else None


def _device(states: Sequence[DeviceState]) -> Columns:
    """The last round's clock, the highest temperature, the throttle reasons of all rounds."""
    if not states:
        return {}
    throttled: dict[str, float] | None = {}  # the largest share; None if a round counted none
    for state in states:
        if state.throttled is None or throttled is None:
            throttled = None
        else:
            shares = state.throttled.items()
            throttled |= {name: max(share, throttled.get(name, 0.0)) for name, share in shares}
    temperatures = [s.temperature_c for s in states if s.temperature_c is not None]
    return {
        "device_clock_hz": states[-1].clock_hz,
        "device_temperature_c": max(temperatures, default=None),
        "device_throttled": throttled,
        "device_throttle_reasons": None if throttled is None else list(throttled),
    }


def _cpu_clock(clocks: Sequence[CpuClock | None]) -> Columns:
    """The means over all rounds, the lowest reading, and what heat did in all of them."""
    known = [clock for clock in clocks if clock is not None]
    if not known:
        return {}
    lows = [clock.low_hz for clock in known if clock.low_hz is not None]
    return {
        "cpu_clock_before_hz": _mean([clock.before_hz for clock in known]),
        "cpu_clock_hz": _mean([clock.mean_hz for clock in known]),
        "cpu_clock_low_hz": min(lows, default=None),
        "cpu_clock_after_hz": _mean([clock.after_hz for clock in known]),
        "cpu_throttle_events": _total([clock.throttle_events for clock in known]),
        "cpu_throttled_s": _total([clock.throttled_s for clock in known]),
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _service(cell: Cell, rounds: Sequence[RoundResult]) -> LatencySummary | None:
    if cell.scenario != "server":
        return None
    of_rounds = [result.parts_ns[SERVICE] for result in rounds]
    durations = list(chain.from_iterable(of_rounds))
    lengths = list(map(len, of_rounds))
    return summarise(durations, samples=len(durations), steady_ns=sum(durations), rounds=lengths)


def _own_doubts(rounds: Sequence[RoundResult]) -> list[Doubt]:
    """Doubts that the mode itself has about its numbers."""
    own = list(chain.from_iterable(result.doubts for result in rounds))
    return own + [
        doubt("cut_short", "D", None, "remeasure", **facts_behind("cause", cut_short))
        for cut_short in filter(None, (result.cut_short for result in rounds))
    ]


def _grade(doubts: Sequence[Doubt]) -> Columns:
    return {"grade": grade_of(doubts), "doubts": list(dict.fromkeys(heaviest_first(doubts)))}
