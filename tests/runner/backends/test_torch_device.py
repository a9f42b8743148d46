"""Waiting for devices, their memory, and queries over them."""

import pytest
import torch
from torch.profiler import ProfilerActivity

from runner.backends.base import DeviceMemory
from runner.backends.torch_device import MemoryGauge, activities, wait_for
from runner.backends.torch_query import Nothing, TorchQuery

pytestmark = pytest.mark.torch

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


class FakeAccelerator:
    """Memory that the test sets."""

    def __init__(self) -> None:
        self.free, self.peak, self.resets = 80, 0, 0

    def get_memory_info(self, device: torch.device) -> tuple[int, int]:
        return self.free, 100

    def max_memory_allocated(self, device: torch.device) -> int:
        return self.peak

    def reset_peak_memory_stats(self, device: torch.device) -> None:
        self.resets += 1


def test_memory_of_a_device_is_counted_from_before_the_load() -> None:
    accelerator = FakeAccelerator()
    gauge = MemoryGauge(CUDA, accelerator)
    accelerator.free, accelerator.peak = 30, 45
    assert gauge.read() == DeviceMemory(allocator_peak_bytes=45, used_bytes=50)
    assert accelerator.resets == 0


def test_a_new_peak_begins_when_asked() -> None:
    accelerator = FakeAccelerator()
    MemoryGauge(CUDA, accelerator).read(reset=True)
    assert accelerator.resets == 1


def test_memory_freed_by_others_is_not_negative_use() -> None:
    accelerator = FakeAccelerator()
    gauge = MemoryGauge(CUDA, accelerator)
    accelerator.free = 95
    memory = gauge.read()
    assert memory is not None
    assert memory.used_bytes == 0


def test_the_cpu_needs_no_waiting_and_has_no_memory_of_its_own() -> None:
    wait_for(CPU)()
    assert MemoryGauge(CPU, FakeAccelerator()).read(reset=True) is None
    assert activities(CPU) == {ProfilerActivity.CPU}


def test_a_query_waits_for_the_device_each_time() -> None:
    tensor, waited = torch.ones(2), [0]
    query = TorchQuery(torch.nn.Identity(), {"input": tensor}, {}, lambda: waited.append(1))
    assert query() is tensor
    query()
    assert waited == [0, 1, 1]


def test_a_model_that_computes_nothing_gives_nothing() -> None:
    assert TorchQuery(Nothing(), {}, {}, wait_for(CPU))() is None
