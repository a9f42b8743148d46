"""What a record says of how OpenVINO executes."""

import re
from collections.abc import Sequence

import openvino as ov

from runner.backends.openvino_compile import precision_of
from runner.backends.openvino_graph import CompiledPart
from runner.backends.openvino_int8 import Quantized, int8_products
from runner.errors import Unsupported

OPTIONS = (
    "INFERENCE_PRECISION_HINT",
    "PERFORMANCE_HINT",
    "NUM_STREAMS",
    THREADS := "INFERENCE_NUM_THREADS",
    "EXECUTION_MODE_HINT",
    "ENABLE_CPU_PINNING",
    "ENABLE_HYPER_THREADING",
    "SCHEDULING_CORE_TYPE",
    "DYNAMIC_QUANTIZATION_GROUP_SIZE",
    "KV_CACHE_PRECISION",
)
"""The properties of a compiled model that are recorded, if it has them."""
MEMBER = re.compile(r"<\w+\.(\w+): -?\d+>")
"""How Python shows a member of an enumeration."""


def told(
    parts: Sequence[CompiledPart], shapes: str, quantized: Quantized | None
) -> dict[str, object]:
    """The columns about the compiled parts of a graph, for the shapes that are named.

    Raises:
        Unsupported: an int8 graph is not executed in int8.
    """
    options = {**options_of(parts[0].compiled), "shapes": shapes}
    precision = "+".join(sorted({precision_of(part.compiled) for part in parts}))
    if quantized is not None:
        options["nncf_quantize_s"] = f"{quantized.duration_s:.1f}"
        products = sum(int8_products(part.compiled) for part in parts)
        if quantized.activations and not products:
            raise Unsupported("OpenVINO executes no product of the int8 graph in int8")
        precision = f"{precision}, int8 in {products} products"
    return {
        "quantization": None if quantized is None else quantized.method,
        "inference_precision": precision,
        "execution_options": options,
    }


def options_of(compiled: ov.CompiledModel) -> dict[str, str]:
    """The options as a compiled model has them, whatever was asked for."""
    known = set(compiled.get_property("SUPPORTED_PROPERTIES"))
    return {name: _text(compiled.get_property(name)) for name in OPTIONS if name in known}


def threads_of(compiled: ov.CompiledModel) -> int | None:
    """Threads that a compiled model says it uses; None if it does not tell."""
    threads = options_of(compiled).get(THREADS)
    return None if threads is None else int(threads)


def _text(value: object) -> str:
    """A property in OpenVINO's own words: `f32`, `ANY_CORE`, `LATENCY`."""
    if isinstance(value, ov.Type):
        return str(value.to_string())
    member = MEMBER.fullmatch(repr(value))
    return member[1] if member else str(value)
