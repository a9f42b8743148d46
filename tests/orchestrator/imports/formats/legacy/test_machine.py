"""What the files say of the machine."""

from typing import Any

import pytest

from orchestrator.imports.formats.legacy.entry import Entry
from orchestrator.imports.formats.legacy.machine import (
    cuda_device,
    libraries_of,
    machine_of,
    python_of,
)


@pytest.mark.parametrize(
    ("devices", "name"),
    [
        ([{"name": "Quadro P4000"}], "Quadro P4000"),
        ([{"name": "A100"}, {"name": "T4"}], None),
        ([{"name": 5}], None),
        ("one", None),
        ([], None),
    ],
)
def test_one_cuda_device_is_the_one_that_ran(devices: Any, name: str | None) -> None:
    assert cuda_device(Entry({"system_info": {"cuda_devices": devices}}, "/")) == name


def test_nothing_said_of_the_machine() -> None:
    machine = machine_of(Entry({"system_info": None}, "/"))
    assert (machine.fields, machine.details) == ({}, {})


def test_sizes_are_gibibytes() -> None:
    machine = machine_of(Entry({"system_info": {"total_memory_gb": 0.5, "os": "Linux"}}, "/"))
    assert machine.fields["memory_total_bytes"] == 2**29
    assert machine.fields["operating_system"] == "Linux"


def test_versions_are_those_of_libraries() -> None:
    entry = Entry({"torch_version": "2.4.0", "os_version": "11", "numpy_version": None}, "/")
    assert libraries_of(entry) == {"torch": "2.4.0"}
    assert entry.details() == {"os_version": "11"}


def test_pythons_version_is_its_first_word() -> None:
    assert python_of(Entry({"python_version": "3.12.3 (main) [GCC]"}, "/")) == "3.12.3"
    assert python_of(Entry({"python_version": " "}, "/")) is None
    assert python_of(Entry({}, "/")) is None
