"""Cost of monitors for the iterations beside them, which decides where they may run.

Each monitor takes turns with none, A B A B, over one session of bert-tiny; a monitor that costs
more than 1 % must not run beside timed iterations. `nothing` is no monitor against none: the noise
of this machine in a ratio of 1. The process that reads clocks also tells what CPU time it takes; on
a machine that shows no clocks it reads plain files in their place, as many as it ever reads.
"""

import json
import os
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from performance.sessions import open_job_session, torch_job
from runner.backends.base import Query
from runner.inputs import synthesise
from runner.measure.clock import Sampler, monotonic
from runner.measure.cpu_clock import CLOCK_FILE, CLOCK_INTERVAL_S, CPUS, MOST_CPUS, CpuClockMeter
from runner.measure.memory.meter import memory_reader
from runner.measure.memory.reader import MemoryReader
from runner.measure.phases import time_once
from runner.measure.processor import SYS
from runner.measure.statistics.percentiles import median_interval
from tests.support.machines import a_sys_folder, cores

MODEL = "bert-tiny"
BLOCK_S = 0.2
FEWEST_PAIRS = 6
BUDGET_S = 10.0
"""For each monitor: 25 pairs on an idle machine, fewer on a busy one."""
LIMIT = 1.01
READING_S = 30.0
"""Time for which the CPU time of the process that reads clocks is counted."""
CLOCKS = f"clocks, each {CLOCK_INTERVAL_S} s by a process"


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
    with clock_meter() as meter:
        candidates = {**memory_monitors(), CLOCKS: Monitor(beside=_reading(meter))}
        costs = {name: cost(query, count, monitor) for name, monitor in candidates.items()}
    for name, (ratio, low, high) in costs.items():
        print(f"{name:<36}  {ratio:.4f}  [{low:.4f}, {high:.4f}]  {verdict(low, high)}")
    share = reading_share()
    print(f"{CLOCKS}: {share:.2%} of a CPU")
    ratios = {name: [round(value, 4) for value in values] for name, values in costs.items()}
    figures = {"limit": LIMIT, "ratios": ratios, "clock_reader_cpu_share": round(share, 5)}
    print(json.dumps({"measurement": "monitors", **figures}), flush=True)


def memory_monitors() -> Mapping[str, Monitor]:
    """The monitors of memory, and none, by name."""
    candidates = {"nothing": Monitor()}
    for name, in_container in {"process": False, "control group": True}.items():
        reader = memory_reader(in_container=in_container)
        candidates[f"{name}, each ms by a thread"] = Monitor(beside=_sampling(reader))
        candidates[f"{name}, between iterations"] = Monitor(between=reader.current_bytes)
    return candidates


@contextmanager
def clock_meter() -> Iterator[CpuClockMeter]:
    """A meter whose process reads this machine's clocks, or plain files where it shows none."""
    cpus = os.sched_getaffinity(0)
    shown = any((SYS / CPUS / CLOCK_FILE.format(cpu)).exists() for cpu in cpus)
    with TemporaryDirectory() as folder:
        if shown:
            meter = CpuClockMeter(cpus)
        else:
            files = {f"{CPUS}/{CLOCK_FILE.format(cpu)}": "2000000" for cpu in range(MOST_CPUS)}
            system = a_sys_folder(Path(folder), [cores(0, MOST_CPUS)], files=files)
            meter = CpuClockMeter(range(MOST_CPUS), system)
        with closing(meter):
            meter.before()
            yield meter


def reading_share() -> float:
    """The share of a CPU that the process takes that reads clocks, its start left out."""
    start_s = _reader_cpu_s(0)
    return (_reader_cpu_s(READING_S) - start_s) / READING_S


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


def _reader_cpu_s(duration_s: float) -> float:
    """CPU time of a process that has read clocks for so long."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with clock_meter() as meter:
        meter.begin()
        time.sleep(duration_s)
        meter.end()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def _reading(meter: CpuClockMeter) -> Callable[[], AbstractContextManager[object]]:
    @contextmanager
    def reading() -> Iterator[None]:
        meter.begin()
        yield
        meter.end()

    return reading


def _sampling(reader: MemoryReader) -> Callable[[], AbstractContextManager[object]]:
    return lambda: Sampler(reader.current_bytes)


if __name__ == "__main__":
    main()
