"""Load of a job's model, once, with the facts that all its cells share."""

import gc
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from runner.backends import load_runtime
from runner.backends.base import RuntimeModule, Session
from runner.contract.errors import Unsupported
from runner.contract.job import Job
from runner.contract.reasons import reason
from runner.contract.record.identity import Host
from runner.contract.record.ids import hardware_id
from runner.contract.record.record import Columns
from runner.contract.record.verdict import Phase
from runner.job.efficiency import Room, has_peaks, peak_columns
from runner.measure.accelerator import device_build, driver_version
from runner.measure.clock import Clock, seconds
from runner.measure.energy import EnergyDevice
from runner.measure.environment import job_threads, last_cache_bytes
from runner.measure.memory.meter import MemoryMeter
from runner.measure.phases import garbage_collection_off, harness_overhead_s, heap_set_aside


@dataclass
class Loader:
    """Loads the model at the first call; a failure is kept and raised again for every cell."""

    job: Job
    memory: MemoryMeter
    environment: Host
    enter: Callable[[Phase], None]
    clock: Clock
    graphs: Path | None = None
    runtime: RuntimeModule | None = field(default=None, init=False)
    """None before it is imported."""
    failure: Exception | None = field(default=None, init=False)
    facts: dict[str, Any] = field(default_factory=dict, init=False)
    """Columns that all cells of the job share."""
    energy_device: EnergyDevice | None = field(default=None, init=False)
    """The session's facts about whose energy counts; None before it is open."""
    harness_overhead_s: float = field(default=0.0, init=False)
    """Median of an iteration over a model that computes nothing."""
    peaks: Columns = field(default_factory=dict, init=False)
    """Columns about the peaks of its device; empty where none are measured."""
    _session: Session | None = field(default=None, init=False)
    _exits: ExitStack = field(default_factory=ExitStack, init=False)

    def load(self) -> Session:
        if self.failure is not None:
            raise self.failure
        if self._session is None:
            try:
                self._session = self._load()
            except Exception as error:
                self.failure = error
                raise
        return self._session

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
        self._exits.close()

    def _load(self) -> Session:
        self.enter("load")
        with garbage_collection_off():
            session = self._open()
        gc.collect()  # what opening left, which may hold weights
        gc.freeze()  # no cell looks through what was loaded
        if has_peaks(self.job):
            facts = self.environment
            cpus = facts.cpu_affinity or () if session.region == "host" else ()
            limits = (self.job.limits.memory_bytes, facts.container_memory_limit_bytes)
            least = min((limit for limit in limits if limit is not None), default=None)
            self.peaks = peak_columns(session, Room(last_cache_bytes(cpus), least), self.clock)
        self.harness_overhead_s = harness_overhead_s(session.empty(), self.clock)
        return session

    def _open(self) -> Session:
        cell, memory, clock = self.job.cells[0], self.memory, self.clock
        baseline = memory.current_bytes()
        memory.reset()
        start = clock()
        self.runtime = load_runtime(cell.runtime)
        imported = clock()
        self._exits.enter_context(heap_set_aside())  # imports leave many objects
        threads = job_threads(self.job, self.environment)
        _require_threads(cell.threads, threads)
        session = self.runtime.open_session(self.job, threads, self.graphs)
        self.energy_device = session.energy_device
        _require_threads(cell.threads, session.threads)
        self.facts |= {
            "import_time_s": seconds(imported - start),
            "load_time_s": seconds(clock() - imported),
            "memory_baseline_bytes": baseline,
            "memory_load_peak_bytes": memory.peak_bytes(),
            "parameters": session.parameters,
            **self._machine(session),
            "threads": session.threads or cell.threads,
            "interop_threads": session.interop_threads,
            "libraries": {**session.libraries, **driver_version(cell.backend)},
            "device_uuid": session.columns.get("device_uuid"),
            "software_device": session.columns.get("software_device"),
        }
        if session.clock_resolution_s is not None:
            self.facts["clock_resolution_s"] = session.clock_resolution_s
        return session

    def _machine(self, session: Session) -> dict[str, Any]:
        """The device with its build, and the id of the machine with this device."""
        uuid = session.columns.get("device_uuid")
        backend, address = self.job.cells[0].backend, session.energy_device.pci_address
        build = asdict(device_build(backend, cast("str | None", uuid), address))
        facts = {**build, "device_name": session.device_name}
        return {**facts, "hardware_id": hardware_id({**self.environment.model_dump(), **facts})}


def _require_threads(requested: int | None, available: int | None) -> None:
    if requested is not None and available not in (None, requested):
        raise Unsupported(reason("too_many_threads", requested=requested, available=available))
