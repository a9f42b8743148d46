"""What must be installed beside the orchestrator before a backend's jobs can be local processes."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from runner.contract.cell import Backend
from runner.contract.errors import Unavailable

_ENGINE = "or start a container engine"


@dataclass(frozen=True)
class Stack:
    """One backend's software, as far as it can be told without importing it."""

    package: str
    """What must be importable."""
    remedy: str
    """How to get it."""
    systems: tuple[str, ...] = ()
    """Values of `sys.platform` that the backend exists on; empty: it does not matter."""


def _of_make(backend: Backend, package: str) -> Stack:
    return Stack(package, f"`make {backend}` installs it, {_ENGINE}")


STACKS: Mapping[Backend, Stack] = {
    "cpu": _of_make("cpu", "torch"),
    "cuda": _of_make("cuda", "torch"),
    "rocm": Stack("torch", f"install torch's ROCm build: images/rocm, {_ENGINE}"),
    "mps": Stack("torch", "`make cpu` installs it", systems=("darwin",)),
    "openvino": _of_make("openvino", "openvino"),
    "qnn": _of_make("qnn", "onnxruntime_qnn"),
}
"""Backends that execute prepared graphs need the stack of `cpu` too, which exports them."""


def require_stack(
    backend: Backend, stacks: Mapping[Backend, Stack] = STACKS, system: str = sys.platform
) -> None:
    """Make sure that the backend's software is installed here.

    Raises:
        Unavailable: it is not, or can't be on this system.
    """
    stack = stacks.get(backend)
    if stack is None:
        return
    if reason := why_not_system(backend, stacks, system):
        raise Unavailable(reason, hint=f"run it on a machine with {_systems(stack)}")
    if find_spec(stack.package) is None:
        raise Unavailable(
            f"the process launcher needs {stack.package}, which is not installed here",
            hint=stack.remedy,
        )


def why_not_system(
    backend: Backend, stacks: Mapping[Backend, Stack] = STACKS, system: str = sys.platform
) -> str | None:
    """Why the backend can't be on this system, whatever is installed; None if it can."""
    stack = stacks.get(backend)
    if stack is None or not stack.systems or system in stack.systems:
        return None
    here = _NAMES.get(system, system)
    return f"backend {backend} exists on {_systems(stack)} alone, and this is {here}"


def _systems(stack: Stack) -> str:
    return " or ".join(_NAMES.get(name, name) for name in stack.systems)


_NAMES = {"darwin": "macOS", "linux": "Linux", "win32": "Windows"}
