"""A backend for tests: no device, scripted behaviour. A real database refuses its rows.

The model's config says how it behaves:

- `latency_s`: what a query, each token and each training step take, seconds;
- `drift`: share of the latency by which every further sleep is longer;
- `load_s`: what loading takes, seconds;
- `tokens`: the number of generated tokens, whatever the cell says;
- `losses`: the losses of the training steps, the last one repeated;
- `learns`, `finite`: the session's answers about its parameters and outputs;
- `faults`: maps a glob over cell ids (or `load`, `trace`) to one of the names in `_FAULTS`.
"""

import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from runner.backends.base import (
    DeviceMemory,
    FloatArray,
    Generated,
    Iteration,
    ProofEvidence,
    Query,
    Region,
    Rehearsal,
    Stage,
    TrainingStep,
)
from runner.contract.cell import Cell
from runner.contract.files import save_text
from runner.contract.job import Job
from runner.inputs import Inputs, tokens_to_generate
from runner.measure.clock import Clock, monotonic
from runner.measure.energy import EnergyDevice

_CHUNK_BYTES = 16 << 20


def _hang() -> None:
    while True:
        time.sleep(1)


def _fill_memory() -> None:
    held = []
    while True:
        held.append(bytearray(os.urandom(1)) * _CHUNK_BYTES)


def _raise(error: Exception) -> None:
    raise error


_FAULTS: Mapping[str, Callable[[], object]] = {
    "hang": _hang,
    "fill_memory": _fill_memory,
    "die": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "raise": partial(_raise, RuntimeError("a scripted failure")),
    "memory_error": partial(_raise, MemoryError("a scripted shortage")),
    "exit": lambda: os._exit(3),
    "print": lambda: print("a stray line on stdout", flush=True),  # noqa: T201 - libraries do print
    "write_outside": lambda: Path("/written-by-the-runner").write_text(""),
}


class Script:
    """The behaviour that a model's config describes."""

    def __init__(
        self, config: Mapping[str, Any], sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.sleep = sleep
        self._latency_s = float(config.get("latency_s", 0.001))
        self._drift = float(config.get("drift", 0))
        self._faults: Mapping[str, str] = config.get("faults", {})
        self._naps = 0
        self.load_s = float(config.get("load_s", 0))
        self.tokens: int | None = config.get("tokens")
        self.losses = [float(loss) for loss in config.get("losses", (1.0,))]
        self.learns = bool(config.get("learns", True))
        self.finite = bool(config.get("finite", True))

    def nap(self, share: float = 1.0) -> None:
        self.sleep(share * self._latency_s * (1 + self._drift * self._naps))
        self._naps += 1

    def fail(self, name: str) -> None:
        """Cause the faults whose pattern matches the name: a cell's id, `load` or `trace`."""
        for pattern, fault in self._faults.items():
            if fnmatchcase(name, pattern):
                _FAULTS[fault]()


class FakeSession:
    """Sleeps instead of computing."""

    device_name = "fake"
    parameters = 0
    threads = None
    interop_threads = None
    libraries: Mapping[str, str] = {}
    timed_region = "a sleep"
    clock_resolution_s = None
    energy_device = EnergyDevice()
    region: Region = "host"

    def __init__(self, script: Script) -> None:
        self._script = script
        self.columns: Mapping[str, object] = {}
        start = monotonic()
        script.fail("load")
        instantiated = monotonic()
        script.sleep(script.load_s)
        self.stages_ns: Mapping[Stage, int] = {
            "instantiate": instantiated - start,
            "weights": monotonic() - instantiated,
        }

    def bind(self, cell: Cell, inputs: Inputs) -> Query:
        self.columns = {"execution_options": {"shape": cell.shape}}

        def query() -> object:
            self._script.fail(cell.id)
            self._script.nap()
            return inputs

        return query

    def bind_host_to_host(self, cell: Cell, inputs: Inputs) -> Query:
        return self.bind(cell, inputs)

    def bind_generation(self, cell: Cell, inputs: Inputs, clock: Clock) -> "FakeGenerator":
        del inputs
        return FakeGenerator(self._script, cell, clock)

    def bind_training(self, cell: Cell, inputs: Inputs, clock: Clock) -> "FakeTrainer":
        del inputs
        return FakeTrainer(self._script, cell, clock)

    def empty(self) -> Query:
        return lambda: None

    def peak_kernels(self) -> None:
        """There is no device."""

    def all_finite(self, outputs: object) -> bool:
        return outputs is not None and self._script.finite

    def arrays(self, outputs: object) -> dict[str, FloatArray]:
        if not isinstance(outputs, Mapping):
            return {}
        return {name: np.asarray(value, dtype=np.float32) for name, value in outputs.items()}

    def prove(self, query: Query, iteration: Iteration | None = None) -> ProofEvidence:
        del iteration
        query()
        return "none", {"claimed": "fake"}

    def trace(self, action: Query, stem: Path) -> None:
        """A trace with the call as its one event, and a table that says why it is empty."""
        start = monotonic()
        self._script.fail("trace")
        action()
        event = {"name": "a call", "ph": "X", "ts": 0, "dur": (monotonic() - start) / 1000}
        trace = json.dumps({"traceEvents": [event | {"pid": 0, "tid": 0}]})
        table = "the fake backend executes no operators\n"
        for suffix, text in (("trace.json", trace), ("operators.txt", table)):
            save_text(stem.with_name(f"{stem.name}.{suffix}"), text)

    def trim(self) -> None:
        """Nothing is kept."""

    def device_memory(self, *, reset: bool = False) -> DeviceMemory | None:
        del reset
        return None

    def close(self) -> None:
        """Nothing to give back."""


class FakeGenerator:
    """Sleeps for each token; all tokens are 0, of a vocabulary of one."""

    def __init__(self, script: Script, cell: Cell, clock: Clock) -> None:
        self._script = script
        self._cell = cell
        self._clock = clock
        self._steps = tokens_to_generate(cell) if script.tokens is None else script.tokens

    def __call__(self) -> Generated:
        self._script.fail(self._cell.id)
        started, times = self._clock(), []
        for _ in range(self._steps):
            self._script.nap()
            times.append(self._clock())
        shape = (self._cell.batch_size, self._steps)
        return Generated(started, times, np.zeros(shape, dtype=np.int64))

    def forced(self, tokens: npt.NDArray[np.int64]) -> FloatArray:
        return np.zeros((*tokens.shape, 1), dtype=np.float32)


@dataclass
class FakeTrainer:
    """Sleeps a quarter of the latency in each part of a step; it has one parameter."""

    script: Script
    cell: Cell
    clock: Clock
    scale = None
    _steps = 0

    def step(self) -> TrainingStep:
        self.script.fail(self.cell.id)
        started = self.clock()
        forward, compared, backward, ended = (self._part() for _ in range(4))
        losses = self.script.losses
        loss = losses[min(self._steps, len(losses) - 1)]
        self._steps += 1
        return TrainingStep(
            started_ns=started,
            forward_ns=forward - started,
            loss_ns=compared - forward,
            backward_ns=backward - compared,
            optimizer_ns=ended - backward,
            ended_ns=ended,
            loss=loss,
        )

    def unchanged(self) -> tuple[str, ...]:
        return () if self._steps > 0 and self.script.learns else ("scripted",)

    def untaught(self) -> tuple[str, ...]:
        return ()

    def changed_share(self) -> float:
        return float(not self.unchanged())

    def rehearse(self) -> Rehearsal:
        return Rehearsal(self.step().loss, {}, {})

    def close(self) -> None:
        """Nothing to give back."""

    def _part(self) -> int:
        self.script.nap(0.25)
        return self.clock()


def open_session(job: Job, threads: int, graphs: Path | None = None) -> FakeSession:
    del threads, graphs
    return FakeSession(Script(job.model.config))


def is_out_of_memory(error: BaseException) -> bool:
    """Only Python's own MemoryError counts, which the harness knows."""
    return isinstance(error, MemoryError)
