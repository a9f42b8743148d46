"""Downloads of the page for one's own device: rows of another source, never proven."""

from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.exchange.imports.document import Document
from orchestrator.exchange.imports.formats import FORMATS
from orchestrator.exchange.imports.formats.device_page import DevicePage
from orchestrator.exchange.imports.outcome import read_document
from orchestrator.exchange.imports.record import records_table
from runner.contract.errors import DamagedFile
from tests.orchestrator.exchange.imports.files import json_document, only, read

NOW = datetime(2026, 11, 23, tzinfo=UTC)
RESULT: dict[str, Any] = {
    "model": "bert-tiny",
    "backend": "webgpu",
    "precision": "fp32",
    "batch_size": 1,
    "sequence_length": 128,
    "graph_sha256": "ab",
    "parameters": 4385920,
    "threads": None,
    "device_name": "apple metal-3",
    "measured_at": "2026-11-23T10:00:00.000Z",
    "runtime_version": "1.30.0",
    "first_ms": 12.5,
    "warmup_iterations": 40,
    "durations_ms": [2.5, 2.505, 2.6],
    "status": "ok",
    "median_ms": 2.505,
    "interval_ms": None,
    "notes": [],
}
DEVICE = {"user_agent": "Mozilla/5.0", "platform": "iOS", "cores": 6}


def download(*results: object, **changes: object) -> Document:
    content = {"format": "accelmatrix-page", "version": 1, "device": DEVICE, "results": results}
    return json_document({**content, **changes})


def test_a_result_becomes_a_measurement_with_its_durations() -> None:
    measurement = only(read(DevicePage(), download(RESULT)))
    assert (measurement.location, measurement.model) == ("/results/0", "bert-tiny")
    assert (measurement.backend, measurement.runtime) == ("webgpu", "onnxruntime_web")
    assert (measurement.status, measurement.mode) == ("ok", "inference")
    assert (measurement.batch_size, measurement.sequence_length) == (1, 128)
    assert measurement.durations_ns == (2_500_000, 2_505_000, 2_600_000)
    assert (measurement.iterations, measurement.warmup_iterations) == (3, 40)
    assert (measurement.latency_median_s, measurement.first_latency_s) == (0.002505, 0.0125)
    assert (measurement.device_name, measurement.operating_system) == ("apple metal-3", "iOS")
    assert measurement.cpu_cores_logical == 6
    assert measurement.libraries == {"onnxruntime-web": "1.30.0"}
    assert measurement.measured_at == datetime(2026, 11, 23, 10, tzinfo=UTC)
    assert measurement.details["graph_sha256"] == "ab"
    assert measurement.details["device.user_agent"] == "Mozilla/5.0"
    assert not measurement.simulated


def test_rows_name_the_page_as_their_source_and_prove_nothing() -> None:
    (row,) = records_table(read_document(download(RESULT), FORMATS), NOW).to_pylist()
    assert (row["source"], row["source_format"]) == ("accelmatrix-page", "accelmatrix-page")
    assert (row["proof"], row["launcher"]) == ("none", "import")


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("webnn refuses the graph: not supported", "unsupported"),
        ("WebAssembly.Memory(): out of memory", "out_of_memory"),
        ("something else", "failed"),
        (None, "failed"),
    ],
)
def test_a_failure_keeps_its_words(reason: str | None, status: str) -> None:
    measurement = only(
        read(DevicePage(), download({**RESULT, "status": "failed", "reason": reason}))
    )
    assert measurement.status == status
    assert measurement.reason == (reason or "the page names no reason")
    assert measurement.durations_ns is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "/version: 2 is not 1"),
        ({"results": {}}, "/results: there is no list"),
        ({"results": [3]}, "/results/0: it is no object"),
        ({"results": [{**RESULT, "durations_ms": [1, -1]}]}, "durations_ms: -1 is negative"),
        ({"results": [{**RESULT, "model": None}]}, "/results/0: model"),
    ],
)
def test_what_contradicts_the_format_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(DamagedFile, match=message):
        read(DevicePage(), download(RESULT, **changes))


def test_a_download_without_results_holds_no_measurement() -> None:
    assert read(DevicePage(), download()).nothing == "a download without results"


def test_a_claim_of_the_file_that_nothing_was_measured_marks_the_row() -> None:
    assert only(read(DevicePage(), download({**RESULT, "is_simulation": True}))).simulated
