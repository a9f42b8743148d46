"""Compile models for a device with explicit options."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from shutil import disk_usage
from typing import Any

import openvino as ov

from runner.backends.openvino.device import OpenVINODevice
from runner.contract.cell import Precision
from runner.contract.errors import Unsupported
from runner.contract.reasons import reason
from runner.measure.clock import monotonic

_HINTS: Mapping[Precision, str] = {"fp32": "f32", "bf16": "bf16", "fp16": "f16", "int8": "f32"}
"""The arithmetic to request; in an int8 model that of operators which are not quantised."""
_ROOM = 2
"""A cache is tried where the temporary folder has room for so many times the weights."""


_PLACEMENT: Mapping[str, object] = {
    "ENABLE_HYPER_THREADING": True,
    "SCHEDULING_CORE_TYPE": "ANY_CORE",
    "ENABLE_CPU_PINNING": False,
}
"""The process is pinned to the CPUs that its threads shall have, for every runtime: OpenVINO shall
neither leave some of them out nor bind threads to them one by one, which others do not."""


class Compiler:
    """Compiler for one device, precision and number of threads.

    One request is under way at a time in all that is measured, so the hint is LATENCY and there is
    one stream: further streams would stay idle.
    """

    def __init__(
        self, core: Any, device: OpenVINODevice, precision: Precision, threads: int
    ) -> None:
        self._core = core
        self._device = device
        self._precision = precision
        self.options = _settable(core, device, precision, threads)
        """The requested options, as far as they can be set for the device."""

    def compile(self, model: ov.Model, **more: object) -> ov.CompiledModel:
        """The model, ready to execute."""
        compiled = self._core.compile_model(model, self._device.name, {**self.options, **more})
        requested, actual = _HINTS[self._precision], arithmetic_of_compiled(compiled)
        if actual != requested:
            raise Unsupported(
                reason(
                    "openvino_precision",
                    actual=actual,
                    device=self._device.name,
                    requested=requested,
                )
            )
        return compiled

    def cached_ns(self, models: Sequence[ov.Model], weights_bytes: int) -> int | None:
        """Nanoseconds to compile these models when a cache holds all of them.

        The cache takes as many bytes as the weights, in the temporary folder. None if there is no
        room for that, or the device does not load what it wrote.
        """
        with tempfile.TemporaryDirectory() as folder:
            if _ROOM * weights_bytes > disk_usage(folder).free:
                return None
            for model in models:
                self.compile(model, CACHE_DIR=folder)
            start = monotonic()
            compiled = [self.compile(model, CACHE_DIR=folder) for model in models]
            duration = monotonic() - start
            return duration if all(map(_from_cache, compiled)) else None


def arithmetic_of_compiled(compiled: ov.CompiledModel) -> str:
    """The precision in which a compiled model says it computes: `f32`, `bf16`, `f16`."""
    return str(compiled.get_property("INFERENCE_PRECISION_HINT").to_string())


def _settable(
    core: Any, device: OpenVINODevice, precision: Precision, threads: int
) -> dict[str, Any]:
    wanted = {
        "INFERENCE_PRECISION_HINT": _HINTS[precision],
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": 1,
        "INFERENCE_NUM_THREADS": threads,
        **_PLACEMENT,
    }
    access = core.get_property(device.name, "SUPPORTED_PROPERTIES")
    return {name: value for name, value in wanted.items() if access.get(name) == "RW"}


def _from_cache(compiled: ov.CompiledModel) -> bool:
    return bool(compiled.get_property("LOADED_FROM_CACHE"))


_NO_OPERATORS = frozenset({"Const", "Input", "Output"})
_NO_TYPES = frozenset({"", "undefined", "dynamic"})


def operator_types(compiled: Any) -> Iterator[tuple[str, str]]:
    """The kind of each operator and the type of number it computes in: `FullyConnected`, `f32`."""
    for node in compiled.get_runtime_model().get_ops():
        about = node.get_rt_info()
        kind, type_ = (str(about[key].astype(str)) for key in ("layerType", "runtimePrecision"))
        if kind not in _NO_OPERATORS and type_ not in _NO_TYPES:
            yield kind, type_
