"""Facts about machine and software, and limits of what a job may use."""

import platform
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from runner.contract.job import Limits
from runner.contract.record import Record
from runner.measure.clock import monotonic, resolution_s
from runner.measure.environment import (
    driver_version,
    hardware_id,
    memory_budget_bytes,
    read_environment,
    usable_cpus,
    versions,
)
from runner.measure.memory import cgroup
from tests.support.vendors import AmdSmi, Nvml

GIB = 1 << 30


def test_the_driver_of_nvidia_has_a_version() -> None:
    assert driver_version("cuda", Nvml()) == {"nvidia-driver": "580.95.05"}


def test_amds_driver_has_its_own_name() -> None:
    assert driver_version("rocm", AmdSmi()) == {"amdgpu": "6.14.14"}


def test_an_unknown_driver_is_left_out() -> None:
    assert driver_version("rocm", AmdSmi(devices=2)) == {}
    assert driver_version("cuda", object()) == {}
    assert driver_version("cpu", Nvml()) == {}


def test_facts_are_those_of_this_machine() -> None:
    environment = read_environment()
    assert environment.memory_total_bytes == psutil.virtual_memory().total
    assert environment.kernel == platform.release()
    assert environment.cpu_model
    assert environment.python_version == platform.python_version()


def test_every_fact_is_a_column() -> None:
    assert set(vars(read_environment())) <= set(Record.model_fields)


def test_the_hardware_id_differs_by_device_and_stays_the_same() -> None:
    environment = read_environment()
    assert hardware_id(environment, "a") == hardware_id(read_environment(), "a")
    assert hardware_id(environment, "a") != hardware_id(environment, "b")


def test_a_quota_cuts_the_usable_cpus() -> None:
    facts = vars(read_environment()) | {"cpu_affinity": [0, 1, 2, 3]}
    environment = type(read_environment())
    assert usable_cpus(environment(**facts | {"container_cpu_limit": None})) == 4
    assert usable_cpus(environment(**facts | {"container_cpu_limit": 1.5})) == 2
    assert usable_cpus(environment(**facts | {"container_cpu_limit": 0.5})) == 1


def test_versions_leave_out_what_is_not_installed() -> None:
    assert list(versions(["pydantic", "no-such-distribution"])) == ["pydantic"]


def test_the_clock_has_a_resolution() -> None:
    assert 0 < resolution_s(monotonic, samples=10) < 0.001


@pytest.mark.parametrize(
    ("files", "memory", "cpus"),
    [
        ({"memory.max": "1073741824", "cpu.max": "150000 100000"}, 1 << 30, 1.5),
        ({"memory.max": "max", "cpu.max": "max 100000"}, None, None),
        (
            {
                "memory/memory.limit_in_bytes": "536870912",
                "cpu/cpu.cfs_quota_us": "200000",
                "cpu/cpu.cfs_period_us": "100000",
            },
            1 << 29,
            2.0,
        ),
        (
            {
                "memory/memory.limit_in_bytes": "9223372036854771712",
                "cpu/cpu.cfs_quota_us": "-1",
                "cpu/cpu.cfs_period_us": "100000",
            },
            None,
            None,
        ),
        ({}, None, None),
    ],
    ids=["v2", "v2-unlimited", "v1", "v1-unlimited", "none"],
)
def test_control_group_limits(
    tmp_path: Path, files: dict[str, str], memory: int | None, cpus: float | None
) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{text}\n")
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
