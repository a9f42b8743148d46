"""A cell's life in one round: first, warm-up, steady phase, and an untimed pass for monitors."""

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from runner.backends.base import Session
from runner.cell import Job
from runner.measure.environment import load_average_1m
from runner.measure.phases import quota_of, steady, warm_up
from runner.modes.base import Instruments, Workload
from runner.part import MemoryUse, Part


def measure_steadily(
    make: Callable[[], Workload], session: Session, job: Job, instruments: Instruments
) -> Part:
    """Measure the workload that `make` binds; nothing but iterations runs in the steady phase."""
    load = load_average_1m()
    instruments.memory.reset()
    session.device_memory(reset=True)
    instruments.enter("first")
    with closing(make()) as workload:
        first_ns = workload()
        instruments.noise.before()  # ahead of the warm-up, which then leads straight to steady
        instruments.enter("warmup")
        warmup = warm_up(workload, instruments.clock, job.measure)
        measured = _steady(workload, job, instruments)
        instruments.enter("observe")
        instruments.memory.observe(workload)
        memory = memory_use(session, instruments)
        workload.check()
    return Part(
        **measured,
        first_ns=first_ns,
        warmup_ns=warmup.durations_ns,
        settled=warmup.settled,
        memory=memory,
        load_average_1m=load,
    )


def _steady(workload: Workload, job: Job, instruments: Instruments) -> Mapping[str, Any]:
    quota = quota_of(job.measure, job.round, [part.durations_ns for part in instruments.earlier])
    instruments.enter("steady")
    instruments.memory.mark()
    workload.forget()
    instruments.energy.start()
    durations = steady(workload, quota, instruments.memory.aside)
    energy = instruments.energy.stop()
    noise = instruments.noise.after()
    return {
        "samples": workload.samples * len(durations),
        "steady_ns": sum(durations),
        "durations_ns": durations,
        "parts_ns": {name: list(values) for name, values in workload.parts_ns.items()},
        "noise": noise,
        "energy": energy,
        "columns": {"timed_region": workload.timed_region, **workload.columns()},
    }


def memory_use(session: Session, instruments: Instruments) -> MemoryUse:
    """The cell's memory, on the host and on the device."""
    use, device = instruments.memory.use(), session.device_memory()
    if device is None:
        return use
    on_device = {
        "allocator_peak_bytes": device.allocator_peak_bytes,
        "device_peak_bytes": device.used_bytes,
    }
    return use.model_copy(update=on_device)
