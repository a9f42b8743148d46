"""Waiting for devices, their memory, and queries over them."""

import pytest
import torch
from torch.profiler import ProfilerActivity

from runner.backends.base import DeviceMemory
from runner.backends.torch_device import MemoryGauge, activities, computes_in, wait_for
from runner.backends.torch_query import Nothing, TorchQuery

pytestmark = pytest.mark.torch

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


def test_memory_of_a_device_is_counted_from_before_the_load() -> None:
    library = FakeMemory()
    gauge = MemoryGauge(CUDA, library)
    library.free, library.peak = 30, 45
    assert gauge.read() == DeviceMemory(allocator_peak_bytes=45, used_bytes=50)
    assert library.resets == 0


def test_a_new_peak_begins_when_asked() -> None:
    library = FakeMemory()
    gauge = MemoryGauge(CUDA, library)
    library.free = 30
    gauge.read(reset=True)
    assert library.resets == 1


@pytest.mark.parametrize(("device", "free"), [(CUDA, 100), (MPS, 100), (CPU, 30)])
def test_what_an_accelerators_allocator_keeps_is_given_back(
    device: torch.device, free: int
) -> None:
    library = FakeMemory()
    gauge = MemoryGauge(device, library)
    library.free = 30
    gauge.trim()
    assert library.free == free


def test_memory_freed_by_others_is_not_negative_use() -> None:
    library = FakeMemory()
    gauge = MemoryGauge(CUDA, library)
    library.free = 95
    memory = gauge.read()
    assert memory is not None
    assert memory.used_bytes == 0


def test_unified_memory_is_what_metal_gave_and_has_no_peak() -> None:
    library = FakeMemory()
    gauge = MemoryGauge(MPS, library)
    library.driver = 70
    assert gauge.read(reset=True) == DeviceMemory(allocator_peak_bytes=None, used_bytes=60)
    assert library.resets == 0


def test_every_function_of_torch_that_counts_memory_is_there() -> None:
    for name in ("mem_get_info", "max_memory_allocated", "reset_peak_memory_stats", "empty_cache"):
        assert callable(getattr(torch.cuda, name))
    for name in ("driver_allocated_memory", "empty_cache"):
        assert callable(getattr(torch.mps, name))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_type_of_numbers_is_named_and_whether_a_cpu_stands_in_for_it(
    dtype: torch.dtype,
) -> None:
    assert computes_in(dtype, CUDA) == str(dtype)
    slow = dtype == torch.float16 and not torch.ops.mkldnn._is_mkldnn_fp16_supported()
    assert computes_in(dtype, CPU).startswith(str(dtype))
    assert ("slower than torch.float32" in computes_in(dtype, CPU)) == slow


def test_the_cpu_needs_no_waiting_and_has_no_memory_of_its_own() -> None:
    wait_for(CPU)()
    assert MemoryGauge(CPU, FakeMemory()).read(reset=True) is None
    assert activities(CPU) == {ProfilerActivity.CPU}


def test_a_query_waits_for_the_device_each_time() -> None:
    tensor, waited = torch.ones(2), [0]
    query = TorchQuery(torch.nn.Identity(), {"input": tensor}, {}, lambda: waited.append(1))
    assert query() is tensor
    query()
    assert waited == [0, 1, 1]


def test_a_model_that_computes_nothing_gives_nothing() -> None:
    assert TorchQuery(Nothing(), {}, {}, wait_for(CPU))() is None
