"""A backend for tests: no device, scripted behaviour. A real database refuses its rows.

The model's config says what goes wrong: `faults` maps a glob over cell ids (or `load`) to one
of the names in `FAULTS`; `latency_s` is what a query takes.
"""

import os
import signal
import time
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from runner.cell import Cell, Job
from runner.inputs import Inputs
from runner.record import Proof

LATENCY_S = 0.001
CHUNK_BYTES = 16 << 20


class FakeSession:
    """Sleeps instead of computing."""

    device_name = "fake"
    parameters = 0
    threads = None
    libraries: Mapping[str, str] = {}
    timed_region = "a sleep"

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._latency_s = float(config.get("latency_s", LATENCY_S))
        self._faults: Mapping[str, str] = config.get("faults", {})
        self._fail("load")

    def bind(self, cell: Cell, inputs: Inputs) -> Callable[[], object]:
        """A query that sleeps, or does what the faults say for this cell."""

        def query() -> object:
            self._fail(cell.id)
            time.sleep(self._latency_s)
            return inputs

        return query

    def all_finite(self, outputs: object) -> bool:
        """Nothing was computed, so nothing is infinite."""
        return outputs is not None

    def prove(self) -> tuple[Proof, dict[str, str]]:
        """There is no device, hence no proof."""
        return "none", {"claimed": "fake"}

    def close(self) -> None:
        """Nothing to give back."""

    def _fail(self, where: str) -> None:
        for pattern, fault in self._faults.items():
            if fnmatchcase(where, pattern):
                FAULTS[fault]()


def open_session(job: Job, threads: int) -> FakeSession:
    """A session that behaves as the model's config says."""
    del threads
    return FakeSession(job.model.config)


def is_out_of_memory(error: BaseException) -> bool:
    """Only Python's own MemoryError counts, which the harness knows."""
    return isinstance(error, MemoryError)


def _hang() -> None:
    while True:
        time.sleep(1)


def _fill_memory() -> None:
    held = []
    while True:
        held.append(bytearray(os.urandom(1)) * CHUNK_BYTES)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _raise() -> None:
    raise RuntimeError("a scripted failure")


def _raise_memory_error() -> None:
    raise MemoryError("a scripted shortage")


def _exit() -> None:
    os._exit(3)


def _print() -> None:
    print("a stray line on stdout", flush=True)  # noqa: T201 - libraries do print


def _write_outside() -> None:
    Path("/written-by-the-runner").write_text("")


FAULTS: Mapping[str, Callable[[], None]] = {
    "hang": _hang,
    "fill_memory": _fill_memory,
    "die": _die,
    "raise": _raise,
    "memory_error": _raise_memory_error,
    "exit": _exit,
    "print": _print,
    "write_outside": _write_outside,
}
