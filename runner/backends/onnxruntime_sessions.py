"""Opens ONNX Runtime's sessions where they were asked for, or says why that cannot be."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as errors

from runner.backends.onnxruntime_device import OnnxDevice
from runner.errors import Unavailable, Unsupported

FALLBACK_REFUSED = "fallback to CPU EP has been explicitly disabled"
OUT_OF_MEMORY_MESSAGES = (
    "Failed to allocate memory",
    "bad_alloc",
    "bad allocation",
    "out of memory",
    "is smaller than requested bytes",
)
"""Of the CPU's arena, of C++, of CUDA, and of an arena with a limit."""

Nodes = Mapping[str, Counter[str]]
"""How many nodes of each operator lie on each provider, as the graph was divided."""

_LATER = (errors.Fail, errors.EPFail, errors.RuntimeException)

Options = Callable[[bool], Any]
"""Makes a session's options; told whether nodes may fall back to the CPU provider."""


def open_session(model: Path | bytes, device: OnnxDevice, options: Options) -> Any:
    """A session on the device; its options and assignment tell how much of the graph lies there.

    An accelerator must take all nodes. Only where it cannot, the rest goes to the CPU provider.

    Raises:
        Unsupported: ONNX Runtime cannot execute the graph there, or nothing of it.
        Unavailable: it could not make the provider.
    """
    try:
        session = _strict(model, device, options)
    except errors.NotImplemented as error:
        raise Unsupported(f"ONNX Runtime has no kernel for the graph: {_told(error)}") from error
    except _LATER as error:
        if not device.compiles or is_out_of_memory(error):
            raise
        raise Unsupported(f"{device.name} cannot take the graph: {_told(error)}") from error
    _require(session, device)
    return session


def nodes_of(sessions: Iterable[Any]) -> Nodes:
    """The nodes of all these sessions, by provider."""
    nodes: dict[str, Counter[str]] = {}
    for session in sessions:
        for part in session.get_provider_graph_assignment_info():
            found = nodes.setdefault(part.ep_name, Counter())
            found.update(node.op_type for node in part.get_nodes())
    return nodes


def is_out_of_memory(error: BaseException) -> bool:
    """Whether ONNX Runtime's allocators say that memory ran out."""
    text = str(error)
    ours = type(error).__module__.startswith("onnxruntime")
    return ours and any(message in text for message in OUT_OF_MEMORY_MESSAGES)


def _require(session: Any, device: OnnxDevice) -> None:
    """Insist that the session has the provider and the provider has work.

    A provider that fails as it is made leaves a session that executes all on the CPU.
    """
    found = session.get_providers()
    if device.provider not in found:
        raise Unavailable(
            f"ONNX Runtime made a session without {device.provider}, only {', '.join(found)}",
            hint="its log on stderr says why the provider could not be made",
        )
    if device.is_accelerator and device.provider not in nodes_of([session]):
        raise Unsupported(
            f"{device.name} takes no node of the graph: ONNX Runtime left all to the CPU",
            hint="its log on stderr says what the provider lacks",
        )


def _strict(model: Path | bytes, device: OnnxDevice, options: Options) -> Any:
    """Without any fallback if that can be."""
    if not device.is_accelerator:
        return _create(model, device, options(True))
    try:
        return _create(model, device, options(False))
    except errors.Fail as error:
        if FALLBACK_REFUSED not in str(error):
            raise
        return _create(model, device, options(True))


def _create(model: Path | bytes, device: OnnxDevice, options: Any) -> Any:
    """A session; the Python layer's retry on the CPU is off.

    The list of providers would give a plugin's name a session on the CPU without a word, so
    plugins are placed by their devices.
    """
    if device.plugins:
        options.add_provider_for_devices(list(device.plugins), dict(device.options))
        return onnxruntime.InferenceSession(model, options, enable_fallback=0)
    providers = [(device.provider, dict(device.options))]
    return onnxruntime.InferenceSession(model, options, providers=providers, enable_fallback=0)


def _told(error: Exception) -> str:
    """What the library says, in one line."""
    return " ".join(str(error).split())
