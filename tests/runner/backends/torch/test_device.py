"""Waiting for devices, their memory, and queries over them."""

from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch
from torch.profiler import ProfilerActivity

from orchestrator.screen.words.reasons import error_text
from runner.backends.base import DeviceMemory
from runner.backends.torch.device import (
    TorchDevice,
    TorchMemory,
    activities,
    find_torch_device,
    wait_for,
)
from runner.backends.torch.query import EmptyModel, TorchQuery
from runner.contract.errors import Unavailable, Unsupported
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


def test_a_query_waits_for_the_device_each_time_but_not_for_a_cpu() -> None:
    tensor, waited = torch.ones(2), [0]
    query = TorchQuery(torch.nn.Identity(), {"input": tensor}, {}, lambda: waited.append(1))
    assert query() is tensor
    query()
    assert waited == [0, 1, 1]
    assert TorchQuery(EmptyModel(), {}, {}, wait_for(CPU))() is None
    assert activities(CPU) == {ProfilerActivity.CPU}


FIRST, SECOND = "5e1b2c0a-0000-4d5e-8f90-000000000001", "77aa2c0a-0000-4d5e-8f90-000000000002"


def fake_torch(hip: str | None = None, **more: object) -> SimpleNamespace:
    """As torch, of a build for CUDA or ROCm, with two GPUs of which it shows `more`, too."""
    gpus = [
        SimpleNamespace(name=f"GPU {index}", uuid=uuid, **more)
        for index, uuid in enumerate((FIRST, SECOND))
    ]
    cuda = Mock(device_count=lambda: len(gpus), get_device_properties=gpus.__getitem__)
    mps = Mock(is_built=lambda: True, is_available=lambda: True)
    tf32 = SimpleNamespace(matmul=SimpleNamespace(allow_tf32=True))
    return SimpleNamespace(
        cuda=cuda,
        version=SimpleNamespace(cuda=None if hip else "13.0", hip=hip),
        backends=SimpleNamespace(mps=mps, cuda=tf32, cudnn=SimpleNamespace(allow_tf32=True)),
    )


def test_the_cpu_is_always_there_and_int8_is_computed_with_cuda() -> None:
    result = find_torch_device("cpu", "int8")
    assert (result.device, result.uuid) == (torch.device("cpu"), None)
    assert result.name
    assert find_torch_device("cuda", "int8", fake_torch(), {}).device == torch.device("cuda", 0)


def test_the_first_gpu_is_taken_without_tf32_and_says_so() -> None:
    library, environment = fake_torch(), dict[str, str]()
    assert find_torch_device("cuda", "fp32", library, environment) == TorchDevice(
        torch.device("cuda", 0),
        "GPU 0",
        f"GPU-{FIRST}",
        {"backends.cuda.matmul.allow_tf32": "False", "backends.cudnn.allow_tf32": "False"},
    )
    assert library.backends.cuda.matmul.allow_tf32 is False
    assert library.backends.cudnn.allow_tf32 is False
    assert environment == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def test_rocms_gpus_are_those_of_cuda_with_their_architecture() -> None:
    address = {"pci_domain_id": 0, "pci_bus_id": 12, "pci_device_id": 1}
    library = fake_torch(hip="7.2", gcnArchName="gfx942", **address)
    result = find_torch_device("rocm", "fp32", library, {})
    assert (result.device, result.name) == (torch.device("cuda", 0), "GPU 0 gfx942")
    assert result.pci_address == "0000:0c:01.0"


@pytest.mark.parametrize("chosen", ["1", f"GPU-{SECOND}", "GPU-77aa", "cuda=1", "rocm=0,1"])
def test_the_user_chooses_by_index_or_uuid(chosen: str) -> None:
    library = fake_torch()
    result = find_torch_device("cuda", "fp32", library, {"ACCELMATRIX_DEVICE": chosen})
    assert (result.device, result.name) == (torch.device("cuda", 1), "GPU 1")
    library.cuda.set_device.assert_called_once_with(1)


@pytest.mark.parametrize(
    ("chosen", "what"), [("2", "no"), ("GPU-9", "no"), ("GPU-", "more than one"), ("NPU", "no")]
)
def test_a_choice_that_fits_none_is_told_what_there_is(chosen: str, what: str) -> None:
    with pytest.raises(Unavailable) as caught:
        find_torch_device("cuda", "fp32", fake_torch(), {"ACCELMATRIX_DEVICE": chosen})
    assert error_text(caught.value) == (
        f"ACCELMATRIX_DEVICE: '{chosen}' is {what} GPU of cuda; "
        f"there are 0 (GPU-{FIRST}), 1 (GPU-{SECOND})"
    )


def test_a_fallback_to_the_cpu_that_nobody_would_see_is_refused() -> None:
    with raises_words(Unsupported, match="run on the CPU unseen"):
        find_torch_device("mps", "fp32", fake_torch(), {"PYTORCH_ENABLE_MPS_FALLBACK": "2"})
