"""The choice of a device, and requested and actual options of what is compiled for it."""

from collections.abc import Mapping
from typing import Any

import openvino as ov
import pytest

from orchestrator.screen.words.reasons import error_hint
from runner.backends.openvino.device import (
    Compiler,
    OpenVINODevice,
    arithmetic_of_compiled,
    find_openvino_device,
)
from runner.contract.axes import Precision
from runner.contract.errors import Unavailable, Unsupported
from tests.support.openvino_models import FakeCompiled, doubling
from tests.support.words import raises_words

GPU_PROPERTIES = {"GPU_DEVICE_TOTAL_MEM_SIZE": 16 << 30, "GPU_EXECUTION_UNITS_COUNT": 512}


class FakeCore:
    """OpenVINO on a machine with these devices; those that are discrete are named."""

    def __init__(
        self, *devices: str, discrete: str = "", auto: str = "CPU", is_silent: bool = False
    ) -> None:
        self.available_devices = list(devices)
        self.asked: list[Mapping[str, object]] = []
        self._discrete = discrete
        self._auto = auto
        self._is_silent = is_silent

    def get_property(self, device: str, name: str) -> object:
        if name == "FULL_DEVICE_NAME":
            return f"Intel {device}"
        if self._is_silent and name != "DEVICE_TYPE":
            raise RuntimeError(f"Option not found: {name}")
        if name in GPU_PROPERTIES:
            assert device.startswith("GPU")
            return GPU_PROPERTIES[name]
        if name == "DEVICE_PCI_INFO":
            return "{domain: 0 bus: 3 device: 0x1f function: 1}"
        return f"Type.{'DISCRETE' if device == self._discrete else 'INTEGRATED'}"

    def compile_model(self, model: Any, device: str, options: Mapping[str, object]) -> FakeCompiled:
        assert device == "AUTO"
        self.asked.append(options)
        return FakeCompiled(EXECUTION_DEVICES=[self._auto])


@pytest.mark.parametrize(
    ("core", "taken"),
    [
        (FakeCore("CPU"), "CPU"),
        (FakeCore("CPU", "GPU", "NPU"), "GPU"),
        (FakeCore("CPU", "GPU.0", "GPU.1", discrete="GPU.1"), "GPU.1"),
        (FakeCore("CPU", "GPU.0", "GPU.1"), "GPU.0"),
        (FakeCore("CPU", "NPU"), "CPU"),
    ],
)
def test_without_a_wish_a_gpu_goes_before_the_cpu_and_both_before_an_npu(
    core: FakeCore, taken: str
) -> None:
    device = find_openvino_device(core, None)
    assert (device.name, device.full_name) == (taken, f"Intel {taken}")
    assert device.requested is None
    assert device.available == tuple(core.available_devices)


@pytest.mark.parametrize(
    ("requested", "name"),
    [("CPU", "CPU"), ("NPU", "NPU"), ("GPU", "GPU.0"), ("GPU.0", "GPU.0"), ("GPU.1", "GPU.1")],
)
def test_a_device_is_taken_by_its_name(requested: str, name: str) -> None:
    device = find_openvino_device(FakeCore("CPU", "GPU.0", "GPU.1", "NPU"), requested)
    assert (device.name, device.requested) == (name, requested)
    assert find_openvino_device(FakeCore("CPU", "GPU"), "GPU.0").name == "GPU"


@pytest.mark.parametrize(
    ("name", "discrete", "address", "memory_bytes", "units"),
    [
        ("GPU.1", True, "0000:03:1f.1", 16 << 30, 512),
        ("GPU.0", False, None, None, 512),
        ("CPU", False, None, None, None),
        ("NPU", False, None, None, None),
    ],
)
def test_a_card_of_its_own_is_told_with_its_address_and_memory_and_each_gpu_with_its_units(
    name: str, discrete: bool, address: str | None, memory_bytes: int | None, units: int | None
) -> None:
    device = find_openvino_device(FakeCore("CPU", "GPU.0", "GPU.1", "NPU", discrete="GPU.1"), name)
    assert (device.is_discrete, device.pci_address) == (discrete, address)
    assert device.columns == {"device_memory_bytes": memory_bytes, "device_compute_units": units}


@pytest.mark.parametrize("asked", ["GPU", "GPU.1", "NPU", "gpu", "0"])
def test_what_is_not_there_is_unavailable_and_what_there_is_is_named(asked: str) -> None:
    with raises_words(Unavailable, match=f"no device {asked}, only CPU") as caught:
        find_openvino_device(FakeCore("CPU"), asked)
    assert "ACCELMATRIX_DEVICE" in str(error_hint(caught.value))
    with raises_words(Unavailable, match="OpenVINO finds no device"):
        find_openvino_device(FakeCore(), None)


def test_this_machine_has_a_cpu_and_auto_finds_a_device() -> None:
    core = ov.Core()
    assert find_openvino_device(core, "CPU").full_name
    assert find_openvino_device(core, "AUTO").name in core.available_devices


GPU = OpenVINODevice("GPU.0", "Some GPU", None, ("CPU", "GPU.0"))
TYPES = {"f32": ov.Type.f32, "bf16": ov.Type.bf16, "f16": ov.Type.f16}


class CompilingCore:
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


def compiler(core: CompilingCore, precision: Precision = "fp32") -> Compiler:
    return Compiler(core, GPU, precision, threads=3)


@pytest.mark.parametrize(
    ("precision", "hint"), [("fp32", "f32"), ("bf16", "bf16"), ("fp16", "f16"), ("int8", "f32")]
)
def test_a_device_that_takes_the_precision_compiles(precision: Precision, hint: str) -> None:
    core = CompilingCore(hint)
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
        compiler(CompilingCore(computes), precision).compile(doubling())


def test_compiling_is_timed_with_a_warm_cache() -> None:
    core = CompilingCore()
    taken = compiler(core).cached_ns([doubling(), doubling()], weights_bytes=8)
    assert taken is not None
    assert taken > 0
    assert len({options["CACHE_DIR"] for options in core.options}) == 1
    assert len(core.options) == 4


def test_the_cpu_uses_its_cache() -> None:
    core = ov.Core()
    real = Compiler(core, find_openvino_device(core, "CPU"), "fp32", threads=1)
    assert real.cached_ns([doubling()], weights_bytes=8)
