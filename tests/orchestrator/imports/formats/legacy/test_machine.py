"""What the files say of the machine."""

import copy
from typing import Any

import pytest

from orchestrator.imports.formats.legacy.checks import CHECK_REPORT_FORMAT
from orchestrator.imports.formats.legacy.json_object import JsonObject
from orchestrator.imports.formats.legacy.machine import (
    cuda_device_name,
    libraries_of,
    machine_of,
    python_of,
)
from orchestrator.imports.measurement import ImportedMeasurement
from tests.orchestrator.imports.documents import json_document, read
from tests.orchestrator.imports.formats.legacy import samples


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
    assert cuda_device_name(JsonObject({"system_info": {"cuda_devices": devices}}, "/")) == name


def test_nothing_said_of_the_machine() -> None:
    machine = machine_of(JsonObject({"system_info": None}, "/"))
    assert (machine.fields, machine.details) == ({}, {})


def test_sizes_are_gibibytes() -> None:
    machine = machine_of(JsonObject({"system_info": {"total_memory_gb": 0.5, "os": "Linux"}}, "/"))
    assert machine.fields["memory_total_bytes"] == 2**29
    assert machine.fields["operating_system"] == "Linux"


def test_versions_are_those_of_libraries() -> None:
    entry = JsonObject({"torch_version": "2.4.0", "os_version": "11", "numpy_version": None}, "/")
    assert libraries_of(entry) == {"torch": "2.4.0"}
    assert entry.details() == {"os_version": "11"}


def test_pythons_version_is_its_first_word() -> None:
    assert python_of(JsonObject({"python_version": "3.12.3 (main) [GCC]"}, "/")) == "3.12.3"
    assert python_of(JsonObject({"python_version": " "}, "/")) is None
    assert python_of(JsonObject({}, "/")) is None


def of_platforms(**changes: Any) -> dict[str | None, ImportedMeasurement]:
    value = {**samples.REPORT, "results": {**copy.deepcopy(samples.PLATFORMS), **changes}}
    return {
        found.backend: found
        for found in read(CHECK_REPORT_FORMAT, json_document(value)).measurements
    }


def test_each_platform_gets_its_verdict() -> None:
    platforms = of_platforms()
    assert {name: found.status for name, found in platforms.items()} == {
        "cpu": "ok",
        "cuda": "ok",
        "openvino": "failed",
        "apple": "unavailable",
        "qualcomm": "ok",
    }
    assert platforms["openvino"].reason == "openvino_init: Failed OpenVINO initialization"
    assert platforms["apple"].reason == "apple_tests: Apple Silicon not available"
    assert {found.model for found in platforms.values()} == {"/tmp/wav2vec2_test_model"}


def test_marks_are_those_of_the_platform() -> None:
    platforms = of_platforms()
    assert platforms["cpu"].marks == ()
    assert platforms["cuda"].marks == (
        "/results/cuda_transcription/is_simulated: true",
        "/results/metadata/platform_status/cuda: 'Success (REAL) - Simulated'",
    )
    assert platforms["qualcomm"].simulated


def test_a_mark_of_the_whole_check_governs_every_platform() -> None:
    metadata = {**samples.PLATFORMS["metadata"], "transformers_mocked": True}
    mark = "/results/metadata/transformers_mocked: true"
    assert all(mark in found.marks for found in of_platforms(metadata=metadata).values())


def test_times_of_single_calls_stay_in_the_details() -> None:
    cpu = of_platforms()["cpu"]
    assert cpu.details["cpu_example.elapsed_time"] == "0.1"
    assert (cpu.latency_mean_s, cpu.first_latency_s, cpu.durations_ns) == (None, None, None)


def test_the_surroundings_are_told() -> None:
    cuda = of_platforms()["cuda"]
    assert (cuda.device_name, cuda.python_version) == ("Quadro P4000", "3.12.3")
    assert cuda.libraries == {"torch": "2.4.0+cu121"}
    assert str(cuda.measured_at) == "2025-02-28 08:21:13.500000+00:00"


def test_examples_tell_of_platforms_too() -> None:
    examples = [
        {"platform": "WebGPU", "implementation_type": "REAL", "output": "Failed to tokenize"},
        {"platform": "ROCm", "implementation_type": "MOCK"},
    ]
    platforms = of_platforms(examples=examples)
    assert platforms["webgpu"].location == "/results/examples/0"
    assert platforms["webgpu"].status == "failed"
    assert platforms["webgpu"].reason == "examples.0.output: Failed to tokenize"
    assert platforms["rocm"].simulated


def test_verdicts_in_a_status_of_their_own() -> None:
    platforms = of_platforms(status={"webnn_init": "Success (REAL)", "mps": "UNKNOWN"})
    assert platforms["webnn"].location == "/results/status/webnn_init"
    assert "mps" not in platforms
