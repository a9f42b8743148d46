"""Facts about machine and software, and limits of what a job may use."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from runner.contract.job import Limits
from runner.measure.environment import (
    last_cache_bytes,
    memory_budget_bytes,
    read_environment,
    read_processor_settings,
    usable_cpus,
)
from runner.measure.memory import cgroup
from runner.measure.memory.cgroup import Throttling
from tests.support.machines import a_sys_folder, cores

GIB = 1 << 30


@pytest.mark.parametrize(
    ("allowed", "requested", "quota", "threads"),
    [
        ([0, 1, 2, 3], None, None, 2),
        ([0, 1, 2, 3], 3, None, 3),
        ([0, 1, 2, 3], 1, None, 1),
        ([0, 2], None, None, 1),
        ([0, 1, 2, 3], None, 1.5, 1),
        ([0, 1, 2, 3], 4, 2.5, 2),
        (None, None, None, 8),
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
    environment = read_environment().model_copy(update=facts)
    assert usable_cpus(environment, requested, system) == threads


def write_groups(root: Path, files: Mapping[str, str], own: str = "") -> Path:
    """Write files of control groups; return one of a process that is in these groups."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{text}\n")
    path = root / "own"
    path.write_text(own)
    return path


OWN_V1 = "5:memory:/a/b\n4:cpu,cpuacct:/a/b\n3:pids:/c\n"


@pytest.mark.parametrize(
    ("own", "files", "memory", "cpus", "throttling"),
    [
        (
            "0::/a/b\n",
            {
                "cpu.stat": "usage_usec 9",
                "a/cpu.max": "150000 100000",
                "a/cpu.stat": "usage_usec 9\nnr_throttled 3\nthrottled_usec 1500000",
                "a/memory.max": str(2 * GIB),
                "a/b/cpu.max": "max 100000",
                "a/b/cpu.stat": "usage_usec 9\nnr_throttled 1\nthrottled_usec 500000",
                "a/b/memory.max": str(4 * GIB),
                "c/cpu.max": "1000 100000",
            },
            2 * GIB,
            1.5,
            Throttling(4, 2.0),
        ),
        (
            OWN_V1,
            {
                "cpu/cpu.cfs_quota_us": "-1",
                "cpu/cpu.cfs_period_us": "100000",
                "cpu/a/cpu.cfs_quota_us": "250000",
                "cpu/a/cpu.cfs_period_us": "100000",
                "cpu/a/b/cpu.stat": "nr_periods 9\nnr_throttled 2\nthrottled_time 2500000000",
                "memory/a/memory.limit_in_bytes": str(GIB),
                "memory/a/b/memory.limit_in_bytes": "9223372036854771712",
            },
            GIB,
            2.5,
            Throttling(2, 2.5),
        ),
        (
            "0::/\n",
            {"cpu.max": "50000 100000", "cpu.stat": "nr_throttled 1\nthrottled_usec 1"},
            None,
            0.5,
            Throttling(1, 1e-6),
        ),
        (
            OWN_V1,
            {"cpu/cpu.stat": "nr_throttled 7\nthrottled_time 0", "memory/memory.max": "max"},
            None,
            None,
            Throttling(7, 0),
        ),
        ("0::/../d\n", {"cpu.max": "max 100000", "cpu.stat": "usage_usec 9"}, None, None, None),
    ],
    ids=["v2", "v1", "container", "container whose path is not visible", "no quota"],
)
def test_limits_of_a_process_are_those_of_its_control_groups_and_all_above_them(
    tmp_path: Path,
    own: str,
    files: dict[str, str],
    memory: int | None,
    cpus: float | None,
    throttling: Throttling | None,
) -> None:
    path = write_groups(tmp_path, files, own)
    assert cgroup.memory_limit_bytes(tmp_path, path) == memory
    assert cgroup.cpu_limit(tmp_path, path) == cpus
    assert cgroup.cpu_throttling(tmp_path, path) == throttling


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
    environment = read_environment().model_copy(update={"container_memory_limit_bytes": container})
    limits = Limits(memory_bytes=limit)
    assert memory_budget_bytes(limits, environment, 2 * GIB, 8 * GIB) == budget


CPU = "devices/system/cpu"
POLICY = {
    f"{CPU}/cpu1/cpufreq/scaling_governor": "powersave",
    f"{CPU}/cpu1/cpufreq/scaling_driver": "intel_pstate",
    f"{CPU}/cpu1/cpufreq/energy_performance_preference": "balance_performance",
    f"{CPU}/smt/active": "1",
    "kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
}


def test_a_laptop_tells_all(tmp_path: Path) -> None:
    settings = read_processor_settings([1], a_sys_folder(tmp_path, [cores(0, 2, 2)], files=POLICY))
    assert settings == {
        "cpu_governor": "powersave",
        "cpu_scaling_driver": "intel_pstate",
        "cpu_energy_preference": "balance_performance",
        "cpu_turbo": None,
        "cpu_smt": True,
        "cpu_threads_per_core": 2,
        "cpu_siblings": [1, 3],
        "numa_nodes": 1,
        "cpu_numa_nodes": [0],
        "transparent_huge_pages": "madvise",
    }


@pytest.mark.parametrize(
    ("files", "turbo"),
    [
        ({"intel_pstate/no_turbo": "1"}, False),
        ({"intel_pstate/no_turbo": "0"}, True),
        ({"cpufreq/boost": "1"}, True),
        ({"cpufreq/boost": "0"}, False),
        ({}, None),
    ],
)
def test_turbo_has_two_switches(files: dict[str, str], turbo: bool | None, tmp_path: Path) -> None:
    named = {f"{CPU}/{name}": content for name, content in files.items()}
    folder = a_sys_folder(tmp_path, [cores(0, 1)], files=named)
    assert read_processor_settings([0], folder)["cpu_turbo"] is turbo


def test_the_last_caches_of_the_cpus_at_work_add_up(tmp_path: Path) -> None:
    """CPUs 0 and 1 share a cache of the third level, CPU 2 has one of its own."""
    for cpu, shared in ((0, "0-1"), (1, "0-1"), (2, "2")):
        for index, (level, size, cpus) in enumerate(((1, 48, cpu), (3, 32768, shared))):
            folder = tmp_path / CPU / f"cpu{cpu}" / "cache" / f"index{index}"
            folder.mkdir(parents=True)
            for name, text in (("level", level), ("size", f"{size}K"), ("shared_cpu_list", cpus)):
                (folder / name).write_text(f"{text}\n")
    assert last_cache_bytes([0, 1], tmp_path) == 32 << 20
    assert last_cache_bytes([0, 2], tmp_path) == 64 << 20
    assert last_cache_bytes([7], tmp_path) is None
