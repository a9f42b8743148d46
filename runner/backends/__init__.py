"""Runtimes that execute models: one package or module each, imported when a job asks for it."""

from collections.abc import Mapping
from importlib import import_module
from typing import cast

from runner.backends.base import RuntimeModule
from runner.contract.axes import Runtime
from runner.contract.errors import Unavailable
from runner.contract.reasons import reason

RUNTIME_MODULES: Mapping[Runtime, str] = {
    "torch": "runner.backends.torch",
    "torch_compile": "runner.backends.torch.compile",
    "onnxruntime": "runner.backends.onnxruntime",
    "openvino": "runner.backends.openvino",
    "onnxruntime_web": "runner.backends.onnxruntime_web",
    "fake": "runner.backends.fake",
}


def load_runtime(runtime: Runtime) -> RuntimeModule:
    """Import the runtime; raises `Unavailable` where its libraries are not installed."""
    try:
        return cast("RuntimeModule", import_module(RUNTIME_MODULES[runtime]))
    except ModuleNotFoundError as error:
        facts = {"runtime": runtime, "package": error.name}
        raise Unavailable(reason("runtime_package_missing", **facts)) from error
