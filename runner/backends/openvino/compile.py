"""Compiles models for a device with every option that decides how it executes spelt out."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from shutil import disk_usage
from typing import Any

import openvino as ov

from runner.backends.openvino.device import Device
from runner.contract.cell import Precision
from runner.contract.errors import Unsupported
from runner.measure.clock import monotonic

HINTS: Mapping[Precision, str] = {"fp32": "f32", "bf16": "bf16", "fp16": "f16", "int8": "f32"}
"""The arithmetic to ask for; in an int8 model that of operators which are not quantised."""
ROOM = 2
"""A cache is tried where the temporary folder has room for so many times the weights."""


class Compiler:
    """Compiles for one device, precision and number of threads.

    One request is under way at a time in all that is measured, so the hint is LATENCY and there is
    one stream: further streams would stay idle.
    """

    def __init__(self, core: Any, device: Device, precision: Precision, threads: int) -> None:
        self._core = core
        self._device = device
        self._precision = precision
        self.options = _settable(core, device, precision, threads)
        """What is asked for: those of the options that the device lets one set."""

    def compile(self, model: ov.Model, **more: object) -> ov.CompiledModel:
        """The model, ready to execute.

        Raises:
            Unsupported: the device would compute in another precision than the one asked for.
        """
        compiled = self._core.compile_model(model, self._device.name, {**self.options, **more})
        asked, found = HINTS[self._precision], precision_of(compiled)
        if found != asked:
            raise Unsupported(
                f"OpenVINO computes in {found} on {self._device.name} when asked for {asked}"
            )
        return compiled

    def cached_ns(self, models: Sequence[ov.Model], weights_bytes: int) -> int | None:
        """Nanoseconds that compiling these models takes when a cache holds all of them.

        The cache takes up as many bytes as the weights, in the temporary folder. None where there
        is no room for that, or the device does not take what it wrote.
        """
        with tempfile.TemporaryDirectory() as folder:
            if ROOM * weights_bytes > disk_usage(folder).free:
                return None
            for model in models:
                self.compile(model, CACHE_DIR=folder)
            start = monotonic()
            compiled = [self.compile(model, CACHE_DIR=folder) for model in models]
            duration = monotonic() - start
            return duration if all(map(_from_cache, compiled)) else None


def precision_of(compiled: ov.CompiledModel) -> str:
    """The precision in which a compiled model says it computes: `f32`, `bf16`, `f16`."""
    return str(compiled.get_property("INFERENCE_PRECISION_HINT").to_string())


def _settable(core: Any, device: Device, precision: Precision, threads: int) -> dict[str, Any]:
    wanted = {
        "INFERENCE_PRECISION_HINT": HINTS[precision],
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": 1,
        "INFERENCE_NUM_THREADS": threads,
    }
    access = core.get_property(device.name, "SUPPORTED_PROPERTIES")
    return {name: value for name, value in wanted.items() if access.get(name) == "RW"}


def _from_cache(compiled: ov.CompiledModel) -> bool:
    return bool(compiled.get_property("LOADED_FROM_CACHE"))


NO_OPERATORS = frozenset({"Const", "Input", "Output"})
NO_TYPES = frozenset({"", "undefined", "dynamic"})


def kinds_and_types(compiled: Any) -> Iterator[tuple[str, str]]:
    """The kind of each operator and the type of number it computes in: `FullyConnected`, `f32`."""
    for node in compiled.get_runtime_model().get_ops():
        about = node.get_rt_info()
        kind, type_ = (str(about[key].astype(str)) for key in ("layerType", "runtimePrecision"))
        if kind not in NO_OPERATORS and type_ not in NO_TYPES:
            yield kind, type_
