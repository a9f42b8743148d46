"""Settings of a processor are read as far as its kernel shows them."""

from pathlib import Path

import pytest

from runner.measure.environment import last_cache_bytes, read_processor_settings
from tests.support.machines import a_sys_folder, cores

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
