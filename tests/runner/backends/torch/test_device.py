"""Waiting for devices, their memory, and queries over them."""

from contextlib import closing
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity

from orchestrator.screen.words.reasons import error_text
from runner.backends.base import DeviceMemory
from runner.backends.torch.backend import TorchSession
from runner.backends.torch.device import (
    TorchDevice,
    TorchMemory,
    activities,
    computation_type,
    find_torch_device,
    wait_for,
)
from runner.backends.torch.forward import EmptyModel, TorchQuery
from runner.contract.errors import Unavailable, Unsupported
from tests.support.tiny_models import tiny_decoder, torch_job
from tests.support.words import raises_words

CPU, CUDA, MPS = torch.device("cpu"), torch.device("cuda"), torch.device("mps")


class FakeMemory:
    """Memory that the test sets, as torch.cuda and torch.mps tell of it."""

    def __init__(self) -> None:
        self.free, self.peak, self.resets, self.driver = 80, 0, 0, 10
        self.cuda = self.mps = self

    def mem_get_info(self, device: torch.device) -> tuple[int, int]:
        return self.free, 100

    def max_memory_allocated(self, device: torch.device) -> int:
        return self.peak

    def reset_peak_memory_stats(self, device: torch.device) -> None:
        self.resets += 1

    def empty_cache(self) -> None:
        self.free = 100

    def driver_allocated_memory(self) -> int:
        return self.driver


@pytest.mark.parametrize(
    ("device", "changes", "memory"),
    [
        (CUDA, {"free": 30, "peak": 45}, DeviceMemory(allocator_peak_bytes=45, used_bytes=50)),
        (CUDA, {"free": 95}, DeviceMemory(allocator_peak_bytes=0, used_bytes=0)),
        (MPS, {"driver": 70}, DeviceMemory(allocator_peak_bytes=None, used_bytes=60)),
        (CPU, {"free": 30}, None),
    ],
)
def test_memory_counts_from_before_the_load_and_a_peak_from_its_reset(
    device: torch.device, changes: dict[str, int], memory: DeviceMemory | None
) -> None:
    library = FakeMemory()
    gauge = TorchMemory(device, library)
    vars(library).update(changes)
    assert gauge.read() == memory
    assert library.resets == 0
    gauge.read(reset=True)
    assert library.resets == (device == CUDA)


@pytest.mark.parametrize(("device", "free"), [(CUDA, 100), (MPS, 100), (CPU, 30)])
def test_what_an_allocator_keeps_is_given_back(device: torch.device, free: int) -> None:
    library = FakeMemory()
    gauge = TorchMemory(device, library)
    library.free = 30
    gauge.trim()
    assert library.free == free


def test_every_function_of_torch_that_counts_memory_is_there() -> None:
    for name in ("mem_get_info", "max_memory_allocated", "reset_peak_memory_stats", "empty_cache"):
        assert callable(getattr(torch.cuda, name))
    for name in ("driver_allocated_memory", "empty_cache"):
        assert callable(getattr(torch.mps, name))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_type_of_numbers_is_named_and_if_a_cpu_emulates_it(dtype: torch.dtype) -> None:
    assert computation_type(dtype, CUDA) == str(dtype)
    slow = dtype == torch.float16 and not torch.ops.mkldnn._is_mkldnn_fp16_supported()
    assert computation_type(dtype, CPU).startswith(str(dtype))
    assert ("slower than torch.float32" in computation_type(dtype, CPU)) == slow


def test_a_query_waits_for_the_device_each_time_but_not_for_a_cpu() -> None:
    tensor, waited = torch.ones(2), [0]
    query = TorchQuery(torch.nn.Identity(), {"input": tensor}, {}, lambda: waited.append(1))
    assert query() is tensor
    query()
    assert waited == [0, 1, 1]
    assert TorchQuery(EmptyModel(), {}, {}, wait_for(CPU))() is None
    assert activities(CPU) == {ProfilerActivity.CPU}


FIRST, SECOND = "5e1b2c0a-0000-4d5e-8f90-000000000001", "77aa2c0a-0000-4d5e-8f90-000000000002"


@dataclass
class FakeCuda:
    """As torch.cuda, which stands for ROCm's devices, too."""

    error: Exception | None = None
    uuids: tuple[str | None, ...] = (FIRST, SECOND)
    has_bf16: bool = True
    architecture: str | None = None
    current: int | None = None
    has_addresses: bool = False

    def init(self) -> None:
        if self.error is not None:
            raise self.error

    def device_count(self) -> int:
        return len(self.uuids)

    def get_device_properties(self, index: int) -> SimpleNamespace:
        properties = SimpleNamespace(name=f"GPU {index}")
        if self.uuids[index] is not None:
            properties.uuid = self.uuids[index]
        if self.architecture:
            properties.gcnArchName = self.architecture
        if self.has_addresses:
            properties.pci_domain_id, properties.pci_bus_id, properties.pci_device_id = 0, 12, index
        return properties

    def set_device(self, index: int) -> None:
        self.current = index

    def is_bf16_supported(self, including_emulation: bool) -> bool:
        assert not including_emulation
        assert self.current is not None
        return self.has_bf16


@dataclass
class FakeMps:
    """As torch.backends.mps."""

    built: bool = True
    available: bool = True
    newer: bool = True

    def __post_init__(self) -> None:
        self.is_built, self.is_available = (lambda: self.built), (lambda: self.available)
        self.get_name = lambda: "Apple M4"

    def is_macos_or_newer(self, major: int, minor: int) -> bool:
        assert (major, minor) == (14, 0)
        return self.newer


@dataclass
class FakeTorch:
    """As torch, of some build."""

    cuda: FakeCuda = field(default_factory=FakeCuda)
    mps: FakeMps = field(default_factory=FakeMps)
    built_for: tuple[str | None, str | None] = ("13.0", None)
    __version__ = "2.13.0"

    def __post_init__(self) -> None:
        self.version = SimpleNamespace(cuda=self.built_for[0], hip=self.built_for[1])
        self.backends = SimpleNamespace(
            mps=self.mps,
            cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=True)),
            cudnn=SimpleNamespace(allow_tf32=True),
        )


def rocm(**changes: Any) -> FakeTorch:
    return FakeTorch(cuda=FakeCuda(**changes), built_for=(None, "7.2"))


def test_the_cpu_is_always_there_and_int8_is_computed_with_cuda() -> None:
    result = find_torch_device("cpu", "int8")
    assert (result.device, result.uuid) == (torch.device("cpu"), None)
    assert result.name
    assert find_torch_device("cuda", "int8", FakeTorch(), {}).device == torch.device("cuda", 0)


def test_the_first_gpu_is_taken_without_tf32_and_says_so() -> None:
    library, environment = FakeTorch(), dict[str, str]()
    result = find_torch_device("cuda", "fp32", library, environment)
    assert result == TorchDevice(
        torch.device("cuda", 0),
        "GPU 0",
        f"GPU-{FIRST}",
        {"backends.cuda.matmul.allow_tf32": "False", "backends.cudnn.allow_tf32": "False"},
    )
    assert library.backends.cuda.matmul.allow_tf32 is False
    assert library.backends.cudnn.allow_tf32 is False
    assert environment == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


@pytest.mark.parametrize("chosen", ["1", f"GPU-{SECOND}", "GPU-77aa", "cuda=1", "rocm=0,1"])
def test_the_user_chooses_by_index_or_uuid(chosen: str) -> None:
    library = FakeTorch()
    result = find_torch_device("cuda", "fp32", library, {"ACCELMATRIX_DEVICE": chosen})
    assert (result.device, result.name) == (torch.device("cuda", 1), "GPU 1")
    assert library.cuda.current == 1


@pytest.mark.parametrize(
    ("chosen", "what"), [("2", "no"), ("GPU-9", "no"), ("GPU-", "more than one"), ("NPU", "no")]
)
def test_a_choice_that_fits_none_is_told_what_there_is(chosen: str, what: str) -> None:
    with pytest.raises(Unavailable) as caught:
        find_torch_device("cuda", "fp32", FakeTorch(), {"ACCELMATRIX_DEVICE": chosen})
    assert error_text(caught.value) == (
        f"ACCELMATRIX_DEVICE: '{chosen}' is {what} GPU of cuda; "
        f"there are 0 (GPU-{FIRST}), 1 (GPU-{SECOND})"
    )


@pytest.mark.parametrize(("backend", "library", "reason"), [
    ("cuda", rocm(), "torch 2.13.0 is a ROCm build, so it has no CUDA"),
    ("cuda", FakeTorch(built_for=(None, None)), "torch 2.13.0 is a build without CUDA"),
    ("rocm", FakeTorch(), "torch 2.13.0 is a build without ROCm"),
    ("mps", FakeTorch(mps=FakeMps(built=False)), "torch 2.13.0 is a build without MPS"),
    ("mps", FakeTorch(mps=FakeMps(available=False)), "finds no Metal device"),
    ("cuda", FakeTorch(cuda=FakeCuda(RuntimeError("Found no NVIDIA driver.\nPlease check"))),
     r"backend cuda: Found no NVIDIA driver\.$"),
    ("rocm", rocm(error=RuntimeError("No HIP GPUs are available")), "No HIP GPUs"),
])  # fmt: skip
def test_without_a_device_torch_says_why(backend: Any, library: FakeTorch, reason: str) -> None:
    with raises_words(Unavailable, match=reason):
        find_torch_device(backend, "fp32", library, {})


def test_this_builds_own_reason_is_the_reason() -> None:
    if torch.version.cuda is None and torch.version.hip is None:
        with raises_words(Unavailable, match=r"is a build without CUDA$"):
            find_torch_device("cuda", "fp32")


def test_cuda_names_the_gpu_once() -> None:
    """Its torch gives the name as the architecture, too, as an H100 showed."""
    torch_ = FakeTorch(cuda=FakeCuda(architecture="GPU 0"))
    assert find_torch_device("cuda", "fp32", torch_, {}).name == "GPU 0"


def test_rocm_names_the_architecture_and_mps_the_chip() -> None:
    result = find_torch_device("rocm", "bf16", rocm(architecture="gfx942", uuids=(None,)), {})
    assert result == TorchDevice(torch.device("cuda", 0), "GPU 0 gfx942")
    result = find_torch_device("mps", "bf16", FakeTorch(), {})
    assert result == TorchDevice(torch.device("mps", 0), "Apple M4")


@pytest.mark.parametrize(("has_addresses", "address"), [(True, "0000:0c:01.0"), (False, None)])
def test_a_gpu_is_known_by_the_address_of_its_board(
    has_addresses: bool, address: str | None
) -> None:
    library = rocm(has_addresses=has_addresses)
    found = find_torch_device("rocm", "fp32", library, {"ACCELMATRIX_DEVICE": "1"})
    job = torch_job(tiny_decoder())
    with closing(TorchSession(job, replace(found, device=CPU), 0)) as session:
        assert session.energy_device.pci_address == found.pci_address == address


def test_a_fallback_to_the_cpu_that_nobody_would_see_is_refused() -> None:
    with raises_words(Unsupported, match="run on the CPU unseen"):
        find_torch_device("mps", "fp32", FakeTorch(), {"PYTORCH_ENABLE_MPS_FALLBACK": "2"})


@pytest.mark.parametrize(
    ("backend", "precision", "library", "reason"),
    [
        ("rocm", "int8", rocm(), "for torch on cpu and cuda only"),
        ("mps", "int8", FakeTorch(), "for torch on cpu and cuda only"),
        ("cuda", "bf16", FakeTorch(cuda=FakeCuda(has_bf16=False)), "which torch would emulate"),
        ("mps", "bf16", FakeTorch(mps=FakeMps(newer=False)), "it takes macOS 14"),
    ],
)
def test_lacking_precisions_are_unsupported(
    backend: Any, precision: Any, library: Any, reason: str
) -> None:
    with raises_words(Unsupported, match=f"{precision} is not possible with torch on .*{reason}"):
        find_torch_device(backend, precision, library, {})
