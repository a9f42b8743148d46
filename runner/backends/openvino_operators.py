"""What a compiled model consists of, as OpenVINO's execution graph shows it."""

from collections.abc import Iterator
from typing import Any

NO_OPERATORS = frozenset({"Const", "Input", "Output"})
NO_TYPES = frozenset({"", "undefined", "dynamic"})


def kinds_and_types(compiled: Any) -> Iterator[tuple[str, str]]:
    """The kind of each operator and the type of number it computes in: `FullyConnected`, `f32`."""
    for node in compiled.get_runtime_model().get_ops():
        about = node.get_rt_info()
        kind, type_ = (str(about[key].astype(str)) for key in ("layerType", "runtimePrecision"))
        if kind not in NO_OPERATORS and type_ not in NO_TYPES:
            yield kind, type_
