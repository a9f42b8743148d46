"""Phases of a warm cell: first query, warm-up, steady phase, untimed pass for monitors."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from runner.backends.base import InPage, Session
from runner.contract.errors import TimedOut
from runner.contract.job import Job
from runner.contract.reasons import Reason
from runner.contract.rounds import MemoryUse, RoundResult
from runner.measure.environment import load_average_1m
from runner.measure.phases import (
    Quota,
    WarmUp,
    garbage_frozen,
    heat,
    quota_of,
    run_steady_phase,
    warm_up,
)
from runner.modes.base import Instruments, Workload

_W = TypeVar("_W", bound=Workload)


def measure_steadily(
    make: Callable[[], Workload], session: Session, job: Job, instruments: Instruments
) -> RoundResult:
    """Measure iterations one after the other; nothing else runs in the steady phase."""
    iterate = partial(_iterate, job=job, instruments=instruments)
    return measure_phases(make, iterate, session, job, instruments)


def measure_phases(
    make: Callable[[], _W],
    measure: Callable[[_W, WarmUp], Mapping[str, Any]],
    session: Session,
    job: Job,
    instruments: Instruments,
) -> RoundResult:
    """Take the workload that `make` binds through its phases.

    `measure` is the steady phase: given the warmed-up workload, it returns its own fields of
    `RoundResult`.
    """
    load = load_average_1m()
    instruments.enter("first")
    session.trim()
    instruments.memory.reset()
    session.device_memory(reset=True)
    with closing(make()) as workload:
        first_ns = workload()
        with garbage_frozen():
            heating_ns = heat_up(workload, job, instruments)
            instruments.cpu_clock.before()
            instruments.noise.before()  # ahead of the warm-up, which leads straight to steady
            instruments.enter("warmup")
            warmup = warm_up(workload, instruments.clock, job.measure, instruments.enough_windows)
            instruments.memory.mark()
            instruments.enter("steady")
            instruments.accelerator.begin()
            instruments.cpu_clock.begin()
            measured = measure(workload, warmup)
            device = instruments.accelerator.read()  # at once, before its clock goes down again
            cpu_clock = instruments.cpu_clock.end()
            measured_at = datetime.now(UTC)
        noise = instruments.noise.after()
        if measured.get("cut_short"):  # whatever executed it answers no more
            memory = MemoryUse(peak_bytes=None, steady_peak_bytes=None, average_bytes=None)
        else:
            instruments.enter("observe")
            instruments.memory.observe(workload)
            memory = _memory_use(session, instruments)
            workload.check()
    return RoundResult(
        **measured,
        first_ns=first_ns,
        heating_ns=heating_ns,
        warmup_ns=warmup.durations_ns,
        enough_windows=warmup.enough_windows,
        settled=warmup.settled,
        noise=noise,
        device=device,
        cpu_clock=cpu_clock,
        memory=memory,
        measured_at=measured_at,
        load_average_1m=load,
    )


def heat_up(workload: Workload, job: Job, instruments: Instruments) -> list[int]:
    """Repeat the iteration for as long as the job asks for; the durations of that."""
    if job.measure.heat_s is None:
        return []
    instruments.enter("warmup")
    return heat(workload, job.measure.heat_s, workload.series)


def _iterate(
    workload: Workload, warmup: WarmUp, *, job: Job, instruments: Instruments
) -> Mapping[str, Any]:
    del warmup  # iterations know their own length
    quota = quota_of(job.measure, instruments.spent_ns)
    workload.forget()
    instruments.energy.start()
    durations, cut_short = _until_silence(workload, quota, instruments)
    energy = instruments.energy.stop()
    return {
        "samples": workload.samples * len(durations),
        "steady_ns": sum(durations),
        "durations_ns": durations,
        "parts_ns": {name: list(values) for name, values in workload.parts_ns.items()},
        "energy": energy,
        "cut_short": cut_short,
        "columns": {"timed_region": workload.timed_region, **workload.columns()},
    }


def _until_silence(
    workload: Workload, quota: Quota, instruments: Instruments
) -> tuple[Sequence[int], Reason | None]:
    """Durations, and the reason if they end because something answered no more."""
    unmeasured = instruments.memory.unmeasured
    try:
        return run_steady_phase(workload, quota, unmeasured, workload.series), None
    except TimedOut as silence:
        if not silence.ended_ns:
            raise
        return silence.ended_ns, silence.reason


def _memory_use(session: Session, instruments: Instruments) -> MemoryUse:
    use, device = instruments.memory.use(), session.device_memory()
    if isinstance(session, InPage):
        return use.model_copy(update=asdict(session.page_memory()))
    if device is None:
        return use
    on_device = {
        "allocator_peak_bytes": device.allocator_peak_bytes,
        "device_peak_bytes": device.used_bytes,
    }
    return use.model_copy(update=on_device)
