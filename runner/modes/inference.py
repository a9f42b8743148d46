"""Inference: forward passes at a fixed shape."""

from dataclasses import asdict

from runner.backends.base import Query, Session
from runner.cell import Cell, Job
from runner.errors import BenchError
from runner.inputs import synthesise
from runner.measure.caveats import caveats
from runner.measure.clock import Clock, seconds
from runner.measure.environment import load_average_1m
from runner.measure.phases import steady, warm_up
from runner.measure.statistics import summarise
from runner.modes.base import Instruments, Measurement


def measure_inference(
    session: Session, job: Job, cell: Cell, instruments: Instruments
) -> Measurement:
    """Time forward passes: the first one, warm-up until settled, then the steady phase."""
    clock, memory, load = instruments.clock, instruments.memory, load_average_1m()
    memory.reset()
    instruments.enter("first")
    query = session.bind(cell, synthesise(job.model, cell, job.seed))
    first_ns = _first(query, session, clock)
    instruments.enter("warmup")
    warmup = warm_up(query, clock, job.measure)
    instruments.enter("steady")
    durations = steady(query, clock, job.measure, between=memory.sample)
    summary = summarise(durations, cell.batch_size)
    proof, evidence = session.prove()
    return {
        **asdict(summary),
        "first_latency_s": seconds(first_ns),
        "warmup_iterations": len(warmup.durations_ns),
        "warmup_time_s": seconds(sum(warmup.durations_ns)),
        "warmup_settled": warmup.settled,
        "warmup_durations_ns": [first_ns, *warmup.durations_ns],
        "durations_ns": durations,
        "memory_peak_bytes": memory.peak_bytes(),
        "memory_average_bytes": memory.average_bytes(),
        "memory_method": memory.method,
        "load_average_1m": load,
        "proof": proof,
        "evidence": evidence,
        "warnings": caveats(summary, warmup, job.measure, instruments.environment, load),
    }


def _first(query: Query, session: Session, clock: Clock) -> int:
    start = clock()
    outputs = query()
    duration = clock() - start
    if not session.all_finite(outputs):
        raise BenchError("the outputs hold NaN or infinity, so the arithmetic cannot be trusted")
    return duration
