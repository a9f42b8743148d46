"""Qualcomm's HTP by the plugin onnxruntime-qnn; on x86-64 its simulator, which has no speed."""

import ctypes
import platform
from importlib import import_module
from typing import Any

import onnxruntime

from runner.backends.onnxruntime.device import OnnxDevice
from runner.contract.errors import Unavailable, Unsupported
from runner.contract.job import Job
from runner.contract.reasons import reason

QNN = "QNNExecutionProvider"
_HTP, _SYSTEM = "QnnHtp", "QnnSystem"
"""Names of the libraries that a session loads."""
SIMULATOR = "HTP simulator"
_SIMULATED_SOC = "60"
"""Snapdragon X Elite, in QNN's numbering of its chips. Without a chip the simulator computes in
fp32, and most graphs cannot be compiled."""
_AT_FULL_SPEED = {"htp_performance_mode": "burst", "rpc_control_latency": "100"}
"""The plugin's default lets the HTP save power. `burst` asks for its highest clock and voltage, the
latency, in microseconds, keeps processor and HTP from sleeping between two calls (ONNX Runtime, QNN
execution provider, configuration options). The simulator has neither."""
_X86 = ("x86_64", "AMD64")


def require_possible(job: Job, machine: str = platform.machine()) -> None:
    """Refuse generation with compiled graphs, and timing a simulator."""
    if job.cells[0].mode == "generation":
        raise Unsupported(reason("qnn_generation"))
    if machine in _X86 and job.purpose != "verify":
        raise Unavailable(reason("simulator_untimed", simulator=SIMULATOR, machine=machine))


def qnn_device(library: Any = onnxruntime, machine: str = platform.machine()) -> OnnxDevice:
    """The HTP of this machine."""
    plugin = _plugin()
    backend = plugin.get_qnn_htp_path()
    for name in (_HTP, _SYSTEM):
        _try_loading(backend.replace(_HTP, name))
    if not _devices(library):
        library.register_execution_provider_library(QNN, plugin.get_library_path())
    devices = _devices(library)
    if not devices:
        raise Unavailable(reason("qnn_no_device", plugin=QNN))
    options = {"backend_path": backend}
    options |= {"soc_model": _SIMULATED_SOC} if machine in _X86 else _AT_FULL_SPEED
    return OnnxDevice(
        "qnn",
        SIMULATOR if machine in _X86 else _name(devices[0]),
        QNN,
        options,
        plugins=devices,
        is_simulated=machine in _X86,
        compiles=True,
    )


def _plugin() -> Any:
    try:
        return import_module("onnxruntime_qnn")
    except ImportError as error:
        raise Unavailable(reason("qnn_not_installed")) from error


def _try_loading(library: str) -> None:
    """Load the library, since ONNX Runtime reports a failure on stderr alone."""
    try:
        ctypes.CDLL(library)
    except OSError as error:
        raise Unavailable(reason("qnn_library", error=error)) from error


def _devices(library: Any) -> tuple[Any, ...]:
    return tuple(device for device in library.get_ep_devices() if device.ep_name == QNN)


def _name(device: Any) -> str:
    """The name that the plugin gives a real device."""
    hardware = device.device
    return f"{hardware.vendor} {hardware.type.name}"
