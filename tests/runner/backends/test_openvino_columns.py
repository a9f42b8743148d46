"""What a record says of how OpenVINO executes."""

from collections.abc import Mapping

import openvino as ov
import pytest

from runner.backends.openvino_columns import options_of, require_int8, threads_of, told
from runner.backends.openvino_graph import CompiledPart
from runner.backends.openvino_int8 import Quantized
from runner.errors import Unsupported
from tests.openvino_models import doubling

CORE = ov.Core()


class FakeCompiled:
    """A compiled model with these properties."""

    def __init__(self, properties: Mapping[str, object]) -> None:
        self._properties = properties

    def get_property(self, name: str) -> object:
        if name == "SUPPORTED_PROPERTIES":
            return dict.fromkeys(self._properties, "RO")
        return self._properties[name]


def part(precision: str = "f32") -> CompiledPart:
    options = {"INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": 1}
    compiled = CORE.compile_model(doubling(), "CPU", options)
    return CompiledPart(doubling(), compiled, (), duration_ns=250_000_000)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (ov.Type.f16, "f16"),
        (ov.properties.hint.SchedulingCoreType.ANY_CORE, "ANY_CORE"),
        (True, "True"),
        (32, "32"),
        ("LATENCY", "LATENCY"),
    ],
)
def test_options_are_told_in_openvinos_own_words(value: object, text: str) -> None:
    compiled = FakeCompiled({"SCHEDULING_CORE_TYPE": value, "NETWORK_NAME": "not an option"})
    assert options_of(compiled) == {"SCHEDULING_CORE_TYPE": text}


def test_a_device_that_tells_no_threads_has_none() -> None:
    assert threads_of(FakeCompiled({"NUM_STREAMS": 2})) is None
    assert threads_of(part().compiled) == 1


def test_shapes_stand_beside_openvinos_options() -> None:
    columns = told([part()], "static", None)
    assert columns["inference_precision"] == "f32"
    assert columns["quantization"] is None
    options = columns["execution_options"]
    assert isinstance(options, dict)
    assert options["shapes"] == "static"
    assert options["INFERENCE_PRECISION_HINT"] == "f32"
    assert "nncf_quantize_s" not in options


def test_parts_of_different_precisions_are_all_told() -> None:
    assert told([part("bf16"), part()], "static", None)["inference_precision"] == "bf16+f32"


def test_compiling_took_as_long_as_all_parts_did() -> None:
    assert told([part(), part()], "static", None)["compile_time_s"] == 0.5


def test_an_int8_graph_without_int8_products_is_refused() -> None:
    quantized = Quantized({}, "by hand", activations=True, duration_s=1.25)
    with pytest.raises(Unsupported, match="no product of the int8 graph in int8"):
        require_int8([part()], quantized)


def test_int8_weights_alone_need_no_int8_products() -> None:
    quantized = Quantized({}, "by hand", activations=False, duration_s=1.25)
    require_int8([part()], quantized)
    columns = told([part()], "static", quantized)
    assert columns["inference_precision"] == "f32, int8 in 0 products"
    assert columns["quantization"] == "by hand"
    options = columns["execution_options"]
    assert isinstance(options, dict)
    assert options["nncf_quantize_s"] == "1.2"
