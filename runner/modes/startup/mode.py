"""Mode `startup`: each iteration is a start in an interpreter of its own.

Warm starts find their files in the page cache, and are the record's latency. Cold ones come before
them, each behind a drop of the files that a first, untimed start has opened; without cold ones an
untimed start reads the files.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import chain
from statistics import median

from runner.contract.axes import IN_CHILDREN
from runner.contract.cell import Cell
from runner.contract.errors import BenchError, reason_of
from runner.contract.job import Job
from runner.contract.reasons import facts_behind
from runner.contract.record.record import Columns
from runner.contract.record.verdict import Doubt, doubt
from runner.contract.rounds import MemoryUse, RoundResult
from runner.measure.clock import NANOSECONDS, seconds
from runner.measure.environment import job_threads, load_average_1m, memory_budget_bytes
from runner.measure.phases import garbage_frozen, quota_of, run_steady_phase
from runner.measure.statistics.percentiles import Interval, fewest
from runner.measure.statistics.replication import Processes, median_of_rounds
from runner.measure.statistics.summary import SecondsColumns, interval_columns, statistic_columns
from runner.modes.base import Instruments
from runner.modes.startup.child import StartRequest
from runner.modes.startup.launch import TimedStart, launch_start

_PIDS_PER_THREAD = 2
_PIDS_PER_START = 8
"""A start of torch with T threads was observed to use 2 T + 3 ids; containers limit them."""
_PIDS_PER_BROWSER = 160  # a browser with its driver took 85 where two cores were
_GARBAGE_COLLECTION = "on, as Python starts"
TIMED_REGION = (
    "launch of a fresh interpreter to its first output, with the device's initialisation, without "
    "the runner's own imports (part `runner`) and the making of inputs; bytecode as it lies, files "
    "in the page cache, which cold starts have just lost; all threads that a job may use"
)
TIMED_REGION_OF_PAGES = (
    "launch of a fresh browser to its page's first output, without the runner's own share (part "
    "`runner`), its driver's launch included, and the inputs' way to the page; browser and page by "
    "the runner's clock, the rest by the page's; files in the page cache, which cold starts have "
    "just lost"
)
COLD_SHARE = 1 / 3
MOST_RESIDENT = 0.5
"""Share of the files' pages that may stay in memory: with more, a start is not a cold one."""
_MEMORY_METHOD = "VmHWM of the started process, the highest of all starts"
_MEMORY_METHOD_OF_PAGES = (
    "PSS of the started process and its browser's behind the first query, the highest of all starts"
)


def measure_startup(job: Job, cell: Cell, instruments: Instruments) -> RoundResult:
    """Start cold, then warm, and in round `measure.rounds` at last several at once, once."""
    load = load_average_1m()
    threads = job_threads(job, instruments.environment)
    alone = job.model_copy(update={"cells": (cell,)})
    request = StartRequest(job=alone, threads=threads, graphs=instruments.graphs, query=True)
    instruments.enter("first")
    cold, resident = _cold_starts(request, job, instruments)
    if not cold:  # the files may be unread so far, or were just dropped
        start_once(request)
    instruments.enter("steady")
    with garbage_frozen():
        instruments.cpu_clock.before()
        instruments.noise.before()
        instruments.accelerator.begin()
        instruments.cpu_clock.begin()
        instruments.energy.start()
        starts = _one_by_one(request, job, instruments)
        energy = instruments.energy.stop()
        device = instruments.accelerator.read()
        cpu_clock = instruments.cpu_clock.end()
        measured_at = datetime.now(UTC)
    noise = instruments.noise.after()
    concurrent, doubts = _concurrent(request, starts, instruments)
    in_page, peak = cell.runtime in IN_CHILDREN, _peak_bytes([*starts, *cold])
    return RoundResult(
        samples=cell.batch_size * len(starts),
        steady_ns=sum(start.to_output_ns for start in starts),
        durations_ns=[start.to_output_ns for start in starts],
        parts_ns=_parts_ns(starts) | (_parts_ns(cold, COLD) if cold else {}),
        noise=noise,
        energy=energy,
        cpu_clock=cpu_clock,
        device=device and device.model_copy(update={"clock_hz": None}),  # it idles by now
        memory=MemoryUse(
            peak_bytes=instruments.memory.counted(peak) or None,
            steady_peak_bytes=None,
            average_bytes=None,
        ),
        measured_at=measured_at,
        load_average_1m=load,
        columns={
            "timed_region": TIMED_REGION_OF_PAGES if in_page else TIMED_REGION,
            "memory_method": _MEMORY_METHOD_OF_PAGES if in_page else _MEMORY_METHOD,
            "garbage_collection": _GARBAGE_COLLECTION,
            **({} if resident is None else {"startup_cold_resident_share": resident}),
            **concurrent,
        },
        doubts=doubts,
    )


def start_once(request: StartRequest) -> TimedStart:
    """Execute one start, with no other beside it."""
    with launch_start(request) as start:
        return start.wait()


def start_at_once(request: StartRequest, workers: int) -> int:
    """Nanoseconds from the first launch until the last model is loaded; the others wait."""
    held = request.model_copy(update={"query": False})
    with ExitStack() as stack:
        pending = [stack.enter_context(launch_start(held)) for _ in range(workers)]
        starts = [start.wait() for start in pending]
    return max(s.report.loaded_at_ns for s in starts) - min(s.launched_at_ns for s in starts)


def _cold_starts(
    request: StartRequest, job: Job, instruments: Instruments
) -> tuple[list[TimedStart], float | None]:
    """Starts whose files were dropped right before, and the share of pages that stayed.

    There are none where too many stay: another process may have the libraries mapped. Where the
    kernel does not tell of the files, the first start's own reading does. The first
    `measure.rounds` rounds share their number, enough for an interval, and their time.
    """
    cache, clock = instruments.page_cache, instruments.clock
    if not cache.can_drop or job.round > job.measure.rounds:
        return [], None
    files = start_once(request.model_copy(update={"files": True})).report.files
    cache.drop(files)
    resident = cache.resident_share(files)
    if resident is not None and resident > MOST_RESIDENT:
        return [], resident
    count = math.ceil(max(fewest(), job.measure.iterations) / job.measure.rounds)
    end = clock() + round(COLD_SHARE * job.measure.max_s * NANOSECONDS / job.measure.rounds)
    starts = [start_once(request)]
    if resident is None:
        resident = starts[0].report.unread_share
        if resident is None or resident > MOST_RESIDENT:
            return [], resident
    while len(starts) < count and clock() < end:
        cache.drop(files)
        starts.append(start_once(request))
    return starts, resident


def _one_by_one(request: StartRequest, job: Job, instruments: Instruments) -> list[TimedStart]:
    starts: list[TimedStart] = []

    def timed() -> int:
        starts.append(start_once(request))
        return starts[-1].to_output_ns

    run_steady_phase(timed, quota_of(job.measure, instruments.spent_ns))
    return starts


def _concurrent(
    request: StartRequest, starts: Sequence[TimedStart], instruments: Instruments
) -> tuple[Columns, list[Doubt]]:
    job = request.job
    if job.round != job.measure.rounds:
        return {}, []
    requested = job.cells[0].workers or request.threads
    workers = min(requested, _fitting(starts, job, instruments))
    doubts: list[Doubt] = []
    if workers < requested:
        doubts += [doubt("concurrent_room", "B", workers, "fewer_workers", requested=requested)]
    try:
        elapsed_s = seconds(start_at_once(request, workers))
    except (MemoryError, BenchError) as error:
        facts = facts_behind("cause", reason_of(error))
        return {}, [*doubts, doubt("concurrent_failed", "B", workers, "fewer_workers", **facts)]
    alone_s = seconds(round(median(start.to_loaded_ns for start in starts)))
    columns = {
        "concurrent_workers": workers,
        "concurrent_time_s": elapsed_s,
        "concurrent_models_per_second": workers / elapsed_s,
        "concurrent_speedup": workers * alone_s / elapsed_s,
    }
    return columns, doubts


def _fitting(starts: Sequence[TimedStart], job: Job, instruments: Instruments) -> int:
    """Number of models that memory and process ids allow, at least the one that was started."""
    used = instruments.memory.current_bytes()
    left_bytes = memory_budget_bytes(job.limits, instruments.environment, used) - used
    fixed = _PIDS_PER_BROWSER if job.cells[0].runtime in IN_CHILDREN else _PIDS_PER_START
    ids = _PIDS_PER_THREAD * job_threads(job, instruments.environment) + fixed
    return max(1, min(left_bytes // max(1, _peak_bytes(starts)), job.limits.pids // ids))


def _peak_bytes(starts: Sequence[TimedStart]) -> int:
    return max(start.report.peak_bytes or 0 for start in starts)


def _parts_ns(starts: Sequence[TimedStart], prefix: str = "") -> dict[str, list[int]]:
    stages = {prefix + name: [start.stages_ns[name] for start in starts] for name in STARTUP_STAGES}
    return {**stages, f"{prefix}runner": [start.runner_ns for start in starts]}


STARTUP_STAGES = ("interpreter", "import", "instantiate", "weights", "first_query")
COLD = "cold_"


def startup_columns(job: Job, rounds: Sequence[RoundResult]) -> Columns:
    """Median and interval of each stage, warm and cold, and of whole cold starts.

    The median is of all starts. With several rounds of them its interval is as wide, by it, as that
    of the rounds' medians; with one it is widened by what processes differ by.
    """
    series = [_series(result.parts_ns) for result in rounds]
    columns: SecondsColumns = {}
    for name in series[0]:
        measured = [index for index, values in enumerate(series) if values[name]]
        processes = Processes.of(job, [rounds[index] for index in measured])
        durations = [series[index][name] for index in measured]
        starts = list(chain.from_iterable(durations))
        interval = _about_all(starts, median_of_rounds(durations, processes)[0])
        columns |= statistic_columns(f"startup_{name}", starts, "median")
        columns |= interval_columns(f"startup_{name}", interval)
    return columns


def _series(parts_ns: Mapping[str, Sequence[int]]) -> Mapping[str, Sequence[int]]:
    """Durations of one round by the name in their columns; empty where it has no such starts."""
    cold = [parts_ns.get(f"{COLD}{stage}", ()) for stage in STARTUP_STAGES]
    return {
        **{f"warm_{stage}": parts_ns.get(stage, ()) for stage in STARTUP_STAGES},
        **{f"cold_{stage}": values for stage, values in zip(STARTUP_STAGES, cold, strict=True)},
        "cold": [sum(stages) for stages in zip(*cold, strict=True)],
    }


def _about_all(starts: Sequence[int], interval: Interval | None) -> Interval | None:
    """The interval, as wide by it, about the median of all starts."""
    if interval is None or not interval.value:
        return interval
    middle = median(starts)
    low, high = (middle * (end / interval.value) for end in (interval.low, interval.high))
    return Interval(low, middle, high)
