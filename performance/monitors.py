"""Cost of memory monitors for the iterations beside them, which decides where they may run.

Each monitor takes turns with none, A B A B, over one session of bert-tiny; a monitor that costs
more than 1 % must not run beside timed iterations. `nothing` is no monitor against none: the noise
of this machine in a ratio of 1.
"""

import json
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from performance.sessions import open_job_session, torch_job
from runner.backends.base import Query
from runner.inputs import synthesise
from runner.measure.clock import Sampler, monotonic
from runner.measure.memory.meter import memory_reader
from runner.measure.memory.reader import MemoryReader
from runner.measure.phases import time_once
from runner.measure.statistics.percentiles import median_interval

MODEL = "bert-tiny"
BLOCK_S = 0.2
FEWEST_PAIRS = 6
BUDGET_S = 10.0
"""For each monitor: 25 pairs on an idle machine, fewer on a busy one."""
LIMIT = 1.01


@dataclass(frozen=True)
class Monitor:
    """Readings during a block of iterations."""

    beside: Callable[[], AbstractContextManager[object]] = nullcontext
    """Context in which the iterations are timed."""
    between: Callable[[], object] = lambda: None
    """Called after each iteration, untimed."""


def main() -> None:
    """Measure and print."""
    job = torch_job(MODEL)
    session = open_job_session(job)
    query = session.bind(job.cells[0], synthesise(job.model, job.cells[0], job.weights_seed))
    once = statistics.median(block(query, 50, Monitor()))
    count = max(10, round(BLOCK_S * 1e9 / once))
    print(f"{MODEL}, batch 1: {once / 1e6:.3f} ms, blocks of {count} iterations")
    costs = {name: cost(query, count, monitor) for name, monitor in monitors().items()}
    for name, (ratio, low, high) in costs.items():
        print(f"{name:<36}  {ratio:.4f}  [{low:.4f}, {high:.4f}]  {verdict(low, high)}")
    ratios = {name: [round(value, 4) for value in values] for name, values in costs.items()}
    print(json.dumps({"measurement": "monitors", "limit": LIMIT, "ratios": ratios}), flush=True)


def monitors() -> Mapping[str, Monitor]:
    """The monitors to compare, by name."""
    candidates = {"nothing": Monitor()}
    for name, in_container in {"process": False, "control group": True}.items():
        reader = memory_reader(in_container=in_container)
        candidates[f"{name}, each ms by a thread"] = Monitor(beside=_sampling(reader))
        candidates[f"{name}, between iterations"] = Monitor(between=reader.current_bytes)
    return candidates


def cost(query: Query, count: int, monitor: Monitor) -> tuple[float, float, float]:
    """Median over the pairs of the ratio of medians, and its 95 % interval."""
    end, ratios = time.perf_counter() + BUDGET_S, list[float]()
    while len(ratios) < FEWEST_PAIRS or time.perf_counter() < end:
        ratios.append(_pair(query, count, monitor, flip=bool(len(ratios) % 2)))
    interval = median_interval(ratios, effective=len(ratios))
    assert interval is not None
    return interval.median, interval.low, interval.high


def verdict(low: float, high: float) -> str:
    """Verdict about a monitor from the interval of its ratio."""
    if low > LIMIT:
        return "costs more than 1 %"
    return "costs 1 % at most" if high <= LIMIT else "undecided"


def block(query: Query, count: int, monitor: Monitor) -> list[int]:
    """Durations of iterations under a monitor, nanoseconds."""
    durations = []
    with monitor.beside():
        for _ in range(count):
            durations.append(time_once(query, monotonic))
            monitor.between()
    return durations


def _pair(query: Query, count: int, monitor: Monitor, *, flip: bool) -> float:
    first, second = (monitor, Monitor()) if flip else (Monitor(), monitor)
    medians = [statistics.median(block(query, count, current)) for current in (first, second)]
    return medians[0] / medians[1] if flip else medians[1] / medians[0]


def _sampling(reader: MemoryReader) -> Callable[[], AbstractContextManager[object]]:
    return lambda: Sampler(reader.current_bytes)


if __name__ == "__main__":
    main()
