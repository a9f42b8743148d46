"""Mode `startup`: each iteration is a cold start, in an interpreter of its own."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from statistics import median

from runner.contract.cell import Cell
from runner.contract.errors import BenchError
from runner.contract.job import Job
from runner.contract.record import Columns
from runner.contract.record.quality import Grade
from runner.contract.rounds import MemoryUse, RoundResult
from runner.measure.clock import seconds
from runner.measure.environment import load_average_1m, memory_budget_bytes, usable_cpus
from runner.measure.phases import quota_of, steady
from runner.measure.statistics.summary import mean_and_stddev
from runner.modes.base import Instruments
from runner.modes.startup.child import Request
from runner.modes.startup.launch import Start, starting

STAGES = ("interpreter", "import", "instantiate", "weights", "first_query")
PIDS_PER_THREAD = 2
PIDS_PER_START = 8
"""A start of torch with T threads was seen to make 2 T + 3 of them; containers limit their ids."""
GARBAGE_COLLECTION = "on, as Python starts"
TIMED_REGION = (
    "launch of a fresh interpreter to its first output, without the runner's own imports (part "
    "`runner`) and the making of inputs; bytecode as it lies, files in the page cache from the "
    "second start on; all threads that a job may use"
)
MEMORY_METHOD = "VmHWM of the started process, the highest of all starts"


def measure_startup(job: Job, cell: Cell, instruments: Instruments) -> RoundResult:
    """Start one model after the other, then, in the last round, some of them at once."""
    load = load_average_1m()
    threads = usable_cpus(instruments.environment)
    alone = job.model_copy(update={"cells": (cell,)})
    request = Request(job=alone, threads=threads, graphs=instruments.graphs, query=True)
    instruments.enter("steady")
    instruments.noise.before()
    instruments.energy.start()
    starts = _one_by_one(request, job, instruments)
    energy = instruments.energy.stop()
    noise = instruments.noise.after()
    concurrent, doubts = _concurrent(request, starts, instruments)
    return RoundResult(
        samples=cell.batch_size * len(starts),
        steady_ns=sum(start.to_output_ns for start in starts),
        durations_ns=[start.to_output_ns for start in starts],
        parts_ns=_parts_ns(starts),
        noise=noise,
        energy=energy,
        memory=_memory(starts),
        load_average_1m=load,
        columns={
            "timed_region": TIMED_REGION,
            "memory_method": MEMORY_METHOD,
            "garbage_collection": GARBAGE_COLLECTION,
            **concurrent,
        },
        doubts=doubts,
    )


def startup_columns(parts_ns: Mapping[str, Sequence[int]]) -> Columns:
    """Mean and standard deviation of each stage, by the names of the record's columns."""
    columns = [mean_and_stddev(f"startup_{stage}", parts_ns.get(stage, ())) for stage in STAGES]
    return {name: value for stage in columns for name, value in stage.items()}


def start_once(request: Request) -> Start:
    """One cold start that nothing else of ours runs beside."""
    with starting(request) as start:
        return start.wait()


def start_at_once(request: Request, workers: int) -> int:
    """Nanoseconds from launching the first of them until the last one has loaded its model.

    Those that are done hold their models meanwhile and compute nothing.
    """
    held = request.model_copy(update={"query": False})
    with ExitStack() as stack:
        under_way = [stack.enter_context(starting(held)) for _ in range(workers)]
        starts = [each.wait() for each in under_way]
    return max(s.report.loaded_at_ns for s in starts) - min(s.launched_at_ns for s in starts)


def _one_by_one(request: Request, job: Job, instruments: Instruments) -> list[Start]:
    starts: list[Start] = []

    def timed() -> int:
        starts.append(start_once(request))
        return starts[-1].to_output_ns

    quota = quota_of(
        job.measure, job.round, [result.durations_ns for result in instruments.earlier]
    )
    steady(timed, quota)
    return starts


def _concurrent(
    request: Request, starts: Sequence[Start], instruments: Instruments
) -> tuple[Columns, list[tuple[Grade, str]]]:
    job = request.job
    if job.round < job.measure.rounds:
        return {}, []
    wanted = job.measure.workers or request.threads
    workers = min(wanted, _fitting(starts, job, instruments))
    doubts: list[tuple[Grade, str]] = []
    if workers < wanted:
        text = f"there is room for {workers} of {wanted} models at once: lower measure.workers"
        doubts.append(("B", text))
    try:
        taken_s = seconds(start_at_once(request, workers))
    except (MemoryError, BenchError) as error:
        text = f"{workers} models could not start at once ({error}): lower measure.workers"
        return {}, [*doubts, ("B", text)]
    alone_s = seconds(round(median(start.to_loaded_ns for start in starts)))
    columns = {
        "concurrent_workers": workers,
        "concurrent_time_s": taken_s,
        "concurrent_models_per_second": workers / taken_s,
        "concurrent_speedup": workers * alone_s / taken_s,
    }
    return columns, doubts


def _fitting(starts: Sequence[Start], job: Job, instruments: Instruments) -> int:
    """How many models memory and process ids have room for: one at least, as one was there."""
    used = instruments.memory.current_bytes()
    room = memory_budget_bytes(job.limits, instruments.environment, used) - used
    ids = PIDS_PER_THREAD * usable_cpus(instruments.environment) + PIDS_PER_START
    return max(1, min(room // max(1, _peak_bytes(starts)), job.limits.pids // ids))


def _peak_bytes(starts: Sequence[Start]) -> int:
    return max(start.report.peak_bytes or 0 for start in starts)


def _memory(starts: Sequence[Start]) -> MemoryUse:
    return MemoryUse(
        peak_bytes=_peak_bytes(starts) or None, steady_peak_bytes=None, average_bytes=None
    )


def _parts_ns(starts: Sequence[Start]) -> dict[str, list[int]]:
    stages = {name: [start.stages_ns[name] for start in starts] for name in STAGES}
    return {**stages, "runner": [start.runner_ns for start in starts]}
