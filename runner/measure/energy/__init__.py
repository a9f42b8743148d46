"""Energy by hardware counters, never by estimates: one file per kind of counter."""

import sys
from collections.abc import Callable, Mapping
from functools import partial

from runner.cell import Backend
from runner.errors import Unavailable
from runner.measure.energy import amd, apple, nvidia, rapl
from runner.measure.energy.counter import Counter
from runner.measure.energy.meter import EnergyMeter

Find = Callable[[], list[Counter]]


def _processor() -> list[Counter]:
    return apple.processor() if sys.platform == "darwin" else rapl.processor()


def _none(backend: str) -> list[Counter]:
    raise Unavailable(f"no energy counter is known for the backend {backend}")


FINDERS: Mapping[Backend, Find] = {
    "cpu": _processor,
    "openvino": _processor,
    "wasm": _processor,
    "cuda": nvidia.gpu,
    "rocm": amd.gpu,
    "mps": apple.gpu,
}
"""Which counters see the hardware that a backend works on."""


def energy_meter(backend: Backend, uuid: str | None = None) -> EnergyMeter:
    """The meter over the counters that see this backend's hardware; it says so if there is none.

    `uuid` tells which of several NVIDIA GPUs works, where that is known.
    """
    if backend == "cuda":
        return EnergyMeter(partial(nvidia.gpu, uuid=uuid))
    return EnergyMeter(FINDERS.get(backend, partial(_none, backend)))


__all__ = ["Counter", "EnergyMeter", "energy_meter"]
