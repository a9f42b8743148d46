"""Peaks are the best that kernels reach, cost little, and fail no cell."""

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.store.records.validate import read_record
from runner.backends.fake import FakeSession
from runner.backends.peaks import Kernel, PeakKernels
from runner.contract.job import Limits
from runner.contract.models import find
from runner.contract.record.record import Columns, Record
from runner.job import efficiency
from runner.job.efficiency import LAST_SIZE, Room, peak_columns
from runner.job.harness import Harness
from runner.job.load import Loader
from runner.measure.clock import NANOSECONDS
from runner.measure.environment import read_environment
from tests.support.fakes import KeptProgress
from tests.support.jobs import a_job
from tests.support.scene import Scene
from tests.support.tiny_models import torch_job

MIB = 1 << 20
ROOM = Room(cache_bytes=32 * MIB, memory_bytes=None)


class Roofs(Scene):
    """A session whose kernels compute and copy at given rates; every other call is disturbed.

    To make a product's numbers takes time as well, as does memory for a copy.
    """

    def __init__(
        self,
        flops_per_s: float = 1e11,
        bytes_per_s: float = 1e10,
        numbers_per_s: float = 1e9,
        memory_s: float = 0,
    ) -> None:
        super().__init__()
        self.sizes: list[int] = []
        self.kernels: PeakKernels | None = PeakKernels(
            "calls",
            lambda size: self._kernel(size, 2 * size**3 / flops_per_s, size**2 / numbers_per_s),
            lambda size: self._kernel(size, 2 * size / bytes_per_s, memory_s),
        )

    def peak_kernels(self) -> PeakKernels | None:
        return self.kernels

    def measured(self, room: Room = ROOM) -> Columns:
        return peak_columns(self.session, room, self.clock)

    def _kernel(self, size: int, duration_s: float, made_in_s: float) -> Kernel:
        self.sizes.append(size)
        self.clock.pass_by(round(made_in_s * NANOSECONDS))
        calls = iter(range(1_000_000))
        return lambda: self.clock.pass_by(round(duration_s * NANOSECONDS) * (1 + next(calls) % 2))


def test_the_peak_is_the_best_call_at_sizes_that_take_long_enough() -> None:
    roofs = Roofs()
    begin = roofs.clock()
    assert roofs.measured() == {
        "peak_flops_per_s": pytest.approx(1e11, rel=1e-3),
        "peak_bytes_per_s": pytest.approx(1e10, rel=1e-3),
        "peak_method": "calls; matrices of 1024 rows; arrays of 64 MiB",
        "device_cache_bytes": 32 * MIB,
    }
    assert roofs.sizes == [64 * MIB, 256, 512, 1024]
    assert roofs.clock() - begin < NANOSECONDS // 2


@pytest.mark.parametrize(("rate", "size"), [(3e9, 256), (1e12, 2048), (1e15, LAST_SIZE)])
def test_matrices_grow_with_the_device_and_time_does_not(rate: float, size: int) -> None:
    roofs = Roofs(flops_per_s=rate)
    begin = roofs.clock()
    assert roofs.measured()["peak_flops_per_s"] == pytest.approx(rate, rel=1e-2)
    assert max(s for s in roofs.sizes if s <= LAST_SIZE) == size
    assert roofs.clock() - begin < NANOSECONDS // 2


@pytest.mark.parametrize(
    ("room", "array_mib"),
    [
        (Room(None, None), 128),
        (Room(4 * MIB, None), 32),
        (Room(200 * MIB, None), 256),
        (Room(300 * MIB, None), None),
        (Room(32 * MIB, 1 << 30), 64),
        (Room(32 * MIB, 1 << 29), None),
    ],
)
def test_a_copy_is_larger_than_the_cache_and_small_beside_the_memory(
    room: Room, array_mib: int | None
) -> None:
    columns = Roofs().measured(room)
    assert (columns["peak_bytes_per_s"] is None) == (array_mib is None)
    assert array_mib is None or columns["peak_method"].endswith(f"arrays of {array_mib} MiB")


@pytest.mark.parametrize(
    ("limit_mib", "container_mib", "copies"),
    [(None, None, True), (512, 1024, True), (256, 1024, False), (1024, 256, False)],
)
def test_the_least_limit_of_job_and_container_bounds_a_copy(
    monkeypatch: pytest.MonkeyPatch, limit_mib: int | None, container_mib: int | None, copies: bool
) -> None:
    roofs, limit = Roofs(), limit_mib and limit_mib * MIB
    assert roofs.kernels is not None
    kernels = replace(roofs.kernels, cache_bytes=16 * MIB)
    monkeypatch.setattr(FakeSession, "peak_kernels", lambda session: kernels)
    job = a_job(limits=Limits(memory_bytes=limit))
    container = container_mib and container_mib * MIB
    environment = read_environment().model_copy(update={"container_memory_limit_bytes": container})
    memory = roofs.instruments().memory
    loader = Loader(job, memory, environment, roofs.phases.append, roofs.clock)
    loader.load()
    peaks = loader.peaks
    loader.close()
    assert (peaks["peak_bytes_per_s"] is not None) == copies


def test_what_has_no_kernel_is_null_and_what_fails_leaves_its_reason() -> None:
    roofs = Roofs()
    assert roofs.kernels is not None
    whole, roofs.kernels = roofs.kernels, replace(roofs.kernels, product=None)
    columns = roofs.measured()
    assert (columns["peak_flops_per_s"], columns["peak_bytes_per_s"] is None) == (None, False)

    def fail(size: int) -> Kernel:
        raise RuntimeError(f"no room for {size}")

    roofs.kernels = replace(whole, product=lambda size: None)
    assert roofs.measured()["peak_flops_per_s"] is None
    roofs.kernels = replace(whole, product=fail)
    assert roofs.measured() == {"peak_method": "unavailable: RuntimeError: no room for 256"}
    roofs.kernels = None
    assert roofs.measured() == {}


@pytest.fixture
def ample_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time for a product, however long a busy machine takes to give the copy its memory."""
    monkeypatch.setattr(efficiency, "LIMIT_NS", 60 * NANOSECONDS)


def measured(tmp_path: Path, **changes: object) -> Record:
    job = torch_job(find("bert-tiny"), sequence_length=32, **changes)
    Harness(job, tmp_path, KeptProgress()).run()
    return read_record(tmp_path / f"{job.cells[0].id}.parquet")


@pytest.mark.slow
@pytest.mark.usefixtures("ample_time")
def test_a_model_in_int8_has_the_peak_of_its_quantised_layers(tmp_path: Path) -> None:
    record = measured(tmp_path, precision="int8")
    assert record.peak_method is not None
    assert record.peak_method.startswith("torch.ao dynamic (")
    assert (record.peak_flops_per_s or 0) > 1e8
