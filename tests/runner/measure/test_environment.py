"""Facts about machine and software, and limits of what a job may use."""

import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from runner.contract.job import Limits
from runner.contract.record import Record
from runner.measure.clock import monotonic, resolution_s
from runner.measure.environment import (
    driver_version,
    memory_budget_bytes,
    read_environment,
    usable_cpus,
    versions,
)
from runner.measure.memory import cgroup
from tests.support.machines import a_sys_folder, cores
from tests.support.vendors import AmdSmi, Nvml

GIB = 1 << 30


@pytest.mark.parametrize(
    ("backend", "library", "driver"),
    [
        ("cuda", Nvml(), {"nvidia-driver": "580.95.05"}),
        ("rocm", AmdSmi(), {"amdgpu": "6.14.14"}),
        ("rocm", AmdSmi(devices=2), {}),
        ("cuda", object(), {}),
        ("cpu", Nvml(), {}),
    ],
)
def test_a_driver_has_a_version_and_an_unknown_one_is_left_out(
    backend: Any, library: object, driver: dict[str, str]
) -> None:
    assert driver_version(backend, library) == driver


def test_facts_are_those_of_this_machine_and_columns() -> None:
    environment = read_environment()
    assert environment.memory_total_bytes == psutil.virtual_memory().total
    assert environment.kernel == platform.release()
    assert environment.cpu_model
    assert environment.python_version == platform.python_version()
    assert set(vars(environment)) <= set(Record.model_fields)


def test_versions_are_of_what_is_installed_and_the_clock_has_a_resolution() -> None:
    assert list(versions(["pydantic", "no-such-distribution"])) == ["pydantic"]
    assert 0 < resolution_s(monotonic, samples=10) < 0.001


@pytest.mark.parametrize(
    ("allowed", "requested", "quota", "threads"),
    [
        ([0, 1, 2, 3], None, None, 2),
        ([0, 1, 2, 3], 3, None, 3),
        ([0, 1, 2, 3], 1, None, 1),
        ([0, 1, 2, 3], 9, None, 4),
        ([0, 2], None, None, 1),
        ([0, 1, 2, 3], None, 1.5, 1),
        ([0, 1, 2, 3], 4, 2.5, 2),
        ([0, 1, 2, 3], None, 0.5, 1),
        (None, None, None, 8),
        (None, 3, None, 3),
    ],
)
def test_an_operator_has_a_thread_for_each_core_unless_it_is_told(
    allowed: list[int] | None,
    requested: int | None,
    quota: float | None,
    threads: int,
    tmp_path: Path,
) -> None:
    system = a_sys_folder(tmp_path, [cores(0, 2, siblings_at=2)]) / "devices" / "system"
    facts = {"cpu_affinity": allowed, "container_cpu_limit": quota, "cpu_cores_physical": 8}
    environment = replace(read_environment(), **facts)
    assert usable_cpus(environment, requested, system) == threads


V1 = ("memory/memory.limit_in_bytes", "cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")
V2 = ("memory.max", "cpu.max")


@pytest.mark.parametrize(
    ("files", "values", "memory", "cpus"),
    [
        (V2, ("1073741824", "150000 100000"), 1 << 30, 1.5),
        (V2, ("max", "max 100000"), None, None),
        (V1, ("536870912", "200000", "100000"), 1 << 29, 2.0),
        (V1, ("9223372036854771712", "-1", "100000"), None, None),
        ((), (), None, None),
    ],
    ids=["v2", "v2-unlimited", "v1", "v1-unlimited", "none"],
)
def test_control_group_limits(
    tmp_path: Path,
    files: tuple[str, ...],
    values: tuple[str, ...],
    memory: int | None,
    cpus: float | None,
) -> None:
    for name, text in zip(files, values, strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    assert cgroup.memory_limit_bytes(tmp_path) == memory
    assert cgroup.cpu_limit(tmp_path) == cpus


@pytest.mark.parametrize(
    ("limit", "container", "budget"),
    [
        (None, None, 8 * GIB),  # of 2 GiB in use and 8 that the machine has left
        (5 * GIB, None, 4 * GIB),
        (5 * GIB, GIB, int(0.8 * GIB)),
    ],
)
def test_the_memory_budget_is_four_fifths_of_the_tightest_bound(
    limit: int | None, container: int | None, budget: int
) -> None:
    environment = replace(read_environment(), container_memory_limit_bytes=container)
    limits = Limits(memory_bytes=limit)
    assert memory_budget_bytes(limits, environment, 2 * GIB, 8 * GIB) == budget
