"""Columns of a record about compiled parts, in OpenVINO's own words."""

import re
from collections.abc import Sequence

import openvino as ov

from runner.backends.openvino.compile import arithmetic_of_compiled
from runner.backends.openvino.graph import CompiledPart
from runner.backends.openvino.int8 import Quantized, int8_products
from runner.contract.errors import Unsupported
from runner.contract.reasons import reason
from runner.measure.clock import seconds

_OPTIONS = (
    "INFERENCE_PRECISION_HINT",
    "PERFORMANCE_HINT",
    "NUM_STREAMS",
    _THREADS := "INFERENCE_NUM_THREADS",
    "EXECUTION_MODE_HINT",
    "ENABLE_CPU_PINNING",
    "ENABLE_HYPER_THREADING",
    "SCHEDULING_CORE_TYPE",
    "DYNAMIC_QUANTIZATION_GROUP_SIZE",
    "KV_CACHE_PRECISION",
)
"""The properties of a compiled model that are recorded, if it has them."""
_MEMBER = re.compile(r"<\w+\.(\w+): -?\d+>")
"""The representation of a member of an enumeration in Python."""


def compiled_columns(
    parts: Sequence[CompiledPart], shapes: str, quantized: Quantized | None
) -> dict[str, object]:
    """The columns about the compiled parts of a graph."""
    options = {**options_of(parts[0].compiled), "shapes": shapes}
    precision = "+".join(sorted({arithmetic_of_compiled(part.compiled) for part in parts}))
    if quantized is not None:
        options["nncf_quantize_s"] = f"{quantized.duration_s:.1f}"
        precision = f"{precision}, int8 in {_int8_products(parts)} products"
    return {
        "quantization": None if quantized is None else quantized.method,
        "inference_precision": precision,
        "execution_options": options,
        "compile_time_s": seconds(sum(part.duration_ns for part in parts)),
    }


def require_int8(parts: Sequence[CompiledPart], quantized: Quantized | None) -> None:
    """Require that a graph with activations in int8 is executed in int8."""
    if quantized is not None and quantized.activations and not _int8_products(parts):
        raise Unsupported(reason("openvino_no_int8"))


def options_of(compiled: ov.CompiledModel) -> dict[str, str]:
    """The options that a compiled model reports."""
    known = set(compiled.get_property("SUPPORTED_PROPERTIES"))
    return {name: _text(compiled.get_property(name)) for name in _OPTIONS if name in known}


def threads_of(compiled: ov.CompiledModel) -> int | None:
    """Threads that a compiled model reports; None if it reports none."""
    threads = options_of(compiled).get(_THREADS)
    return None if threads is None else int(threads)


def _int8_products(parts: Sequence[CompiledPart]) -> int:
    return sum(int8_products(part.compiled) for part in parts)


def _text(value: object) -> str:
    """A property in OpenVINO's own words: `f32`, `ANY_CORE`, `LATENCY`."""
    if isinstance(value, ov.Type):
        return str(value.to_string())
    member = _MEMBER.fullmatch(repr(value))
    return member[1] if member else str(value)
