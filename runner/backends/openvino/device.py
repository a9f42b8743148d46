"""Which of OpenVINO's devices is taken, and what it is called."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset13 as operators

from runner.contract.errors import Unavailable, Unsupported

AUTO = "AUTO"
PREFERRED = ("GPU", "CPU")
"""The order in which OpenVINO's own AUTO goes through types of devices; an NPU is taken only by
name, as there."""
MISSING = (
    "ACCELMATRIX_DEVICE names one of those, or AUTO; a GPU needs Intel's OpenCL driver and "
    "/dev/dri, an NPU its driver and /dev/accel, both also inside the image"
)


@dataclass(frozen=True)
class Device:
    """A device of this machine."""

    name: str
    """What OpenVINO calls it: `CPU`, `GPU.1`, `NPU`."""
    full_name: str
    """What its maker calls it."""
    asked: str | None
    """What the user asked for; None where the choice was left to us."""
    available: tuple[str, ...]
    """All that OpenVINO found."""


def find_device(core: Any, asked: str | None) -> Device:
    """The device that was asked for; without a wish the first GPU, discrete ones first, or the CPU.

    AUTO is asked which device it takes; the model then executes on that one directly, so AUTO's
    way of starting on the CPU meanwhile and of falling back to it has no part in it.

    Raises:
        Unavailable: there is no such device.
    """
    available = tuple(core.available_devices)
    if asked is None:
        name = _preferred(core, available)
    else:
        name = _chosen_by_openvino(core) if asked == AUTO else _listed(asked, available)
    if name is None:
        found = ", ".join(available)
        told = f"has no device {asked}, only {found}" if found else "finds no device"
        raise Unavailable(f"OpenVINO {told}", hint=MISSING)
    return Device(name, str(core.get_property(name, "FULL_DEVICE_NAME")), asked, available)


def plain(name: str) -> str:
    """The name that a device is compared by: `(GPU.0)`, as AUTO puts it, and `GPU.0` are `GPU`."""
    return name.strip("()").removesuffix(".0")


def nothing() -> ov.Model:
    """A model that computes nothing: it gives what it takes."""
    value = operators.parameter([1], np.float32, name="nothing")
    return ov.Model([operators.result(value)], [value], "nothing")


def _listed(asked: str, available: tuple[str, ...]) -> str | None:
    return next((name for name in available if plain(name) == plain(asked)), None)


def _preferred(core: Any, available: tuple[str, ...]) -> str | None:
    for kind in PREFERRED:
        found = [name for name in available if name.partition(".")[0] == kind]
        if found:
            return min(found, key=lambda name: not _is_discrete(core, name))
    return None


def _is_discrete(core: Any, name: str) -> bool:
    return "discrete" in str(core.get_property(name, "DEVICE_TYPE")).lower()


def _chosen_by_openvino(core: Any) -> str:
    compiled = core.compile_model(nothing(), AUTO, {"ENABLE_STARTUP_FALLBACK": False})
    return str(compiled.get_property("EXECUTION_DEVICES")[0]).strip("()")


OUT_OF_MEMORY = re.compile(
    r"bad_alloc|bad allocation"
    r"|Failed to allocate (\d+ bytes of |zero )?memory"
    r"|Exceeded max size of memory|buffer allocation failed|out of GPU resources"
    r"|CL_(OUT_OF_RESOURCES|OUT_OF_HOST_MEMORY|MEM_OBJECT_ALLOCATION_FAILURE)"
    r"|ZE_RESULT_ERROR_OUT_OF_(DEVICE|HOST)_MEMORY"
)
"""What the plugins for CPU, GPU and NPU say, and the allocator that all of them use."""
LOCATION = re.compile(r"Exception from \S+:\d+:")
LONGEST = 400


def is_out_of_memory(error: BaseException) -> bool:
    """Whether OpenVINO says that memory ran out."""
    return isinstance(error, RuntimeError) and OUT_OF_MEMORY.search(str(error)) is not None


@contextmanager
def refusals(deed: str) -> Iterator[None]:
    """Take an error for the reason why OpenVINO cannot do this with the model.

    Raises:
        Unsupported: it cannot. A lack of memory stays the error it was.
    """
    try:
        yield
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise
        raise Unsupported(f"OpenVINO cannot {deed}: {_told(error)}") from error


def _told(error: RuntimeError) -> str:
    """Its words in one line, without the places in OpenVINO's source that it went through."""
    return " ".join(LOCATION.sub("", str(error)).split())[:LONGEST]
