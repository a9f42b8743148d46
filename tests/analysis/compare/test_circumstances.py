"""Circumstances of two measurements: what is told to differ, and what is too little to be told."""

from typing import Any

import pytest

from analysis.compare.circumstances import (
    CONDITIONS,
    circumstance_changes,
    common_changes,
    differences,
    setting_changes,
)

_SAME: dict[str, Any] = {
    **dict.fromkeys(CONDITIONS),
    "environment_variables": {},
    "libraries": {"torch": "2.13.0"},
    "image_digest": "sha256:" + "a" * 64,
    "git_commit": "b" * 40,
    "runner_version": "0.1.0",
    "kernel": "6.12.0",
    "python_version": "3.11.9",
    "operating_system": "Example OS",
    "device": "Example CPU",
    "cpu_cores_logical": 32,
    "memory_total_bytes": 16 << 30,
    "launcher": "process",
    "timed_region": "forward",
    "threads": 2,
    "container_cpu_limit": None,
    "profile": "quick",
    "rounds": 1,
    "energy_scope": "package",
    "cpu_clock_hz": 2.5e9,
    "device_clock_hz": None,
    "noise_other_load": 0.01,
    "noise_steal": 0.0,
    "noise_kernel_shift": 0.0,
}


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ({}, ()),
        ({"image_digest": "sha256:" + "c" * 64}, ("image aaaaaaaaaaaa, now cccccccccccc",)),
        ({"git_commit": "b" * 40 + "-dirty"}, ("commit bbbbbbbbbbbb, now bbbbbbbbbbbb-dirty",)),
        ({"memory_total_bytes": (16 << 30) - 5_000}, ()),
        ({"memory_total_bytes": 8 << 30}, ("memory in GiB 16, now 8",)),
        (
            {"device": "Another CPU", "cpu_cores_logical": 16},
            ("device Example CPU, now Another CPU",),
        ),
        ({"kernel": "6.13.0", "threads": 4}, ("kernel 6.12.0, now 6.13.0", "threads 2, now 4")),
        ({"kernel": None}, ()),
        ({"heat_s": 60.0}, ("heating in seconds none, now 60",)),
        (
            {"libraries": {"torch": "2.14.0", "NVIDIA driver": "570"}},
            ("NVIDIA driver missing, now 570", "torch 2.13.0, now 2.14.0"),
        ),
        ({"cpu_clock_hz": 2.6e9}, ()),
        ({"cpu_clock_hz": 2.0e9}, ("CPU clock in GHz 2.5, now 2",)),
        ({"noise_other_load": 0.05}, ()),
        ({"noise_other_load": 0.5}, ("other processes' share of the CPU in % 1, now 50",)),
    ],
)
def test_changes_are_told_in_words(now: dict[str, Any], told: tuple[str, ...]) -> None:
    assert circumstance_changes(_SAME, _SAME | now) == told


@pytest.mark.parametrize(
    ("then", "now", "told"),
    [
        ({}, {"threads": 4, "kernel": "6.13.0"}, ()),
        ({}, {"heat_s": 60.0}, ("heating in seconds none, now 60",)),
        ({"heat_s": 60.0}, {"hardware_id": "b"}, ("heating in seconds 60, now none",)),
        ({"cpu_turbo": True}, {"cpu_turbo": False}, ("turbo on, now off",)),
        ({"cpu_turbo": True}, {"cpu_turbo": False, "hardware_id": "b"}, ()),
        ({}, {"environment_variables": {"OMP": "1"}}, ("OMP not set, now 1",)),
        ({}, {"environment_variables": {"OMP": "1"}, "image_digest": "sha256:c"}, ()),
        (
            {"image_digest": None},
            {"environment_variables": {"OMP": "1"}, "image_digest": None, "hardware_id": "b"},
            ("OMP not set, now 1",),
        ),
    ],
)
def test_settings_are_told_unless_another_machine_or_image_brings_them(
    then: dict[str, Any], now: dict[str, Any], told: tuple[str, ...]
) -> None:
    before = _SAME | {"hardware_id": "a"} | then
    assert setting_changes(before, before | {"heat_s": None} | now) == told


def test_what_all_cells_share_is_told_once() -> None:
    assert common_changes([("a", "b"), ("b", "c"), ("b",)]) == ("b",)
    assert common_changes([]) == ()


def conditions(variables: dict[str, str] | None = None, **columns: Any) -> dict[str, Any]:
    return {"environment_variables": variables, **columns}


@pytest.mark.parametrize(
    ("then", "now", "named"),
    [
        (conditions(), conditions(), ()),
        (
            conditions(cpu_governor="powersave"),
            conditions(cpu_governor="performance"),
            ("CPU governor powersave, now performance",),
        ),
        (conditions(cpu_governor=None), conditions(cpu_governor="performance"), ()),
        (conditions(), conditions({"OMP_A": "1"}), ("OMP_A not set, now 1",)),
        (conditions({"OMP_A": "1"}), conditions({"OMP_A": "2"}), ("OMP_A 1, now 2",)),
        (conditions({"OMP_A": "1"}), conditions(), ("OMP_A 1, now not set",)),
    ],
)
def test_differences(then: dict[str, Any], now: dict[str, Any], named: tuple[str, ...]) -> None:
    assert differences(then, now) == named
