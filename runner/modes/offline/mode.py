"""Scenario `offline`: all samples are there at once, so search for the best batch."""

from contextlib import closing
from functools import partial

from runner.backends import load_runtime
from runner.backends.base import Session, ran_out_of_memory
from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.record.record import Columns
from runner.contract.rounds import RoundResult
from runner.measure.clock import NANOSECONDS
from runner.measure.environment import memory_budget_bytes
from runner.measure.phases import garbage_frozen
from runner.modes.base import Instruments
from runner.modes.inference import InferenceWorkload
from runner.modes.offline.curve import BatchTry
from runner.modes.offline.search import BatchSearch, SearchBounds, SearchResult, time_try
from runner.modes.steady import heat_up, measure_steadily

SEARCH_SHARE = 1 / 3
"""Share of `measure.max_s` for the search."""
_OF_SEARCH = ("batch_size", "search")


def measure_offline(
    session: Session, job: Job, cell: Cell, instruments: Instruments
) -> RoundResult:
    """Measure forward passes at the best batch; later rounds take that of the first."""
    if instruments.earlier:
        columns = instruments.earlier[0].columns
        chosen = {name: columns[name] for name in columns if _is_of_search(name)}
        return _measure_at(chosen, session, job, cell, instruments)
    heating_ns = _heat_up(session, job, cell, instruments)
    search = _search(session, job, cell, instruments)
    chosen = {"batch_size": search.best.batch_size, "search": search.lines, **search.curve.columns}
    result = _measure_at(chosen, session, job.heated(), cell, instruments)
    doubts = [*result.doubts, *search.doubts]
    # The search has queried at this shape already, so a first query lies there.
    own = {"first_ns": search.best.first_ns, "heating_ns": heating_ns, "doubts": doubts}
    return result.model_copy(update=own)


def _heat_up(session: Session, job: Job, cell: Cell, instruments: Instruments) -> list[int]:
    """Heat the machine at the first batch, so that all batches meet the same clock."""
    if job.measure.heat_s is None:
        return []
    with closing(InferenceWorkload(session, job, cell, instruments.clock)) as workload:
        workload()
        return heat_up(workload, job, instruments)


def _is_of_search(name: str) -> bool:
    return name in _OF_SEARCH or name.startswith("offline_")


def _measure_at(
    chosen: Columns, session: Session, job: Job, cell: Cell, instruments: Instruments
) -> RoundResult:
    sized = cell.model_copy(update={"batch_size": chosen["batch_size"]})
    result = measure_steadily(
        lambda: InferenceWorkload(session, job, sized, instruments.clock), session, job, instruments
    )
    return result.model_copy(update={"columns": {**result.columns, **chosen}})


def _search(session: Session, job: Job, cell: Cell, instruments: Instruments) -> SearchResult:
    before_bytes = instruments.memory.current_bytes()
    bounds = SearchBounds(
        first_batch=cell.batch_size,
        began_ns=instruments.clock(),
        budget_ns=round(SEARCH_SHARE * job.measure.max_s * NANOSECONDS),
        memory_before_bytes=before_bytes,
        memory_budget_bytes=memory_budget_bytes(job.limits, instruments.environment, before_bytes),
    )
    instruments.enter("first")
    trial = partial(_try_batch, session, job, cell, instruments)

    def ran_out(error: Exception) -> bool:
        return ran_out_of_memory(error, load_runtime(cell.runtime))

    with garbage_frozen():  # each try collects what the last one has left, and nothing else
        return BatchSearch(trial, bounds, instruments.clock, ran_out).run()


def _try_batch(
    session: Session, job: Job, cell: Cell, instruments: Instruments, size: int, until_ns: int
) -> BatchTry:
    sized = cell.model_copy(update={"batch_size": size})
    instruments.memory.reset()
    session.device_memory(reset=True)
    with closing(InferenceWorkload(session, job, sized, instruments.clock)) as workload:
        first_ns = workload()
        with garbage_frozen():
            durations = time_try(workload, instruments.clock, until_ns)
        device = session.device_memory()
    on_device = None if device is None else device.allocator_peak_bytes or device.used_bytes
    return BatchTry(size, first_ns, durations, instruments.memory.peak_bytes(), on_device)
