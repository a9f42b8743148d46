"""Requested and actual options of compiled models."""

from collections.abc import Mapping
from typing import Any

import openvino as ov
import pytest

from runner.backends.openvino.device import (
    Compiler,
    OpenVINODevice,
    arithmetic_of_compiled,
    find_openvino_device,
)
from runner.contract.cell import Precision
from runner.contract.errors import Unsupported
from tests.support.openvino_models import FakeCompiled, doubling
from tests.support.words import raises_words

GPU = OpenVINODevice("GPU.0", "Some GPU", None, ("CPU", "GPU.0"))
TYPES = {"f32": ov.Type.f32, "bf16": ov.Type.bf16, "f16": ov.Type.f16}


class FakeCore:
    """OpenVINO with a device that lets some properties be set."""

    def __init__(self, computes: str = "f32", *, caches: bool = True) -> None:
        self.options: list[Mapping[str, Any]] = []
        self._computes = computes
        self._caches = caches

    def get_property(self, device: str, name: str) -> Mapping[str, str]:
        assert (device, name) == ("GPU.0", "SUPPORTED_PROPERTIES")
        return {"INFERENCE_PRECISION_HINT": "RW", "PERFORMANCE_HINT": "RW", "NUM_STREAMS": "RO"}

    def compile_model(self, model: object, device: str, options: Mapping[str, Any]) -> FakeCompiled:
        self.options.append(options)
        earlier = [o for o in self.options[:-1] if "CACHE_DIR" in o]
        cached = self._caches and bool(earlier)
        return FakeCompiled(
            INFERENCE_PRECISION_HINT=TYPES[self._computes], LOADED_FROM_CACHE=cached
        )


def compiler(core: FakeCore, precision: Precision = "fp32") -> Compiler:
    return Compiler(core, GPU, precision, threads=3)


@pytest.mark.parametrize(
    ("precision", "hint"), [("fp32", "f32"), ("bf16", "bf16"), ("fp16", "f16"), ("int8", "f32")]
)
def test_a_device_that_takes_the_precision_compiles(precision: Precision, hint: str) -> None:
    core = FakeCore(hint)
    compiled = compiler(core, precision).compile(doubling(), PERF_COUNT=True)
    assert arithmetic_of_compiled(compiled) == hint
    assert core.options[0]["INFERENCE_PRECISION_HINT"] == hint
    assert core.options[0]["PERF_COUNT"] is True


@pytest.mark.parametrize(
    ("precision", "computes"), [("fp32", "f16"), ("bf16", "f32"), ("fp16", "f32"), ("int8", "f16")]
)
def test_another_precision_than_that_asked_for_is_refused(
    precision: Precision, computes: str
) -> None:
    with raises_words(Unsupported, match=rf"computes in {computes} on GPU\.0 when asked for"):
        compiler(FakeCore(computes), precision).compile(doubling())


def test_compiling_is_timed_with_a_warm_cache() -> None:
    core = FakeCore()
    taken = compiler(core).cached_ns([doubling(), doubling()], weights_bytes=8)
    assert taken is not None
    assert taken > 0
    assert len({options["CACHE_DIR"] for options in core.options}) == 1
    assert len(core.options) == 4


def test_the_cpu_uses_its_cache() -> None:
    core = ov.Core()
    real = Compiler(core, find_openvino_device(core, "CPU"), "fp32", threads=1)
    assert real.cached_ns([doubling()], weights_bytes=8)
