"""Results of the page of `orchestrator browser serve`, from anybody's browser: never proven."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from orchestrator.exchange.imports.document import TOP, Document, parse_time, pointer
from orchestrator.exchange.imports.entry import FileEntry, Reading, gather
from orchestrator.exchange.imports.simulation_marks import marks_in
from runner.contract.errors import DamagedFile

_FORMAT = "accelmatrix-page"
_VERSION = 1
_TEXTS = ("model", "backend", "precision", "device_name")
_COUNTS = ("batch_size", "sequence_length", "image_size", "audio_seconds", "parameters")
_NO_MARKS = ("notes",)
"""Sentences for the user of the page."""


class DevicePage:
    """The format of the page's downloads."""

    name = _FORMAT
    source = _FORMAT

    def recognises(self, document: Document) -> bool:
        content = document.json
        return isinstance(content, dict) and content.get("format") == _FORMAT

    def read(self, document: Document) -> Reading:
        content = document.json if isinstance(document.json, dict) else {}
        if content.get("version") != _VERSION:
            raise DamagedFile(
                f"/version: {content.get('version')!r} is not {_VERSION}, which this release reads"
            )
        results, device = content.get("results"), content.get("device")
        if not isinstance(results, list):
            raise DamagedFile("/results: there is no list of results")
        entries = _entries(results, device if isinstance(device, dict) else {})
        return gather(entries, "a download without results")


def _entries(results: list[Any], device: Mapping[str, Any]) -> Iterator[FileEntry]:
    for number, result in enumerate(results):
        location = pointer(TOP, "results", number)
        if not isinstance(result, dict):
            yield FileEntry(location, f"{location}: it is no object")
            continue
        entry = FileEntry(location)
        entry.mark(*marks_in(result, location, _NO_MARKS))
        entry.set(runtime="onnxruntime_web", mode="inference", scenario="single_stream")
        for column in _TEXTS:
            entry.text(column, column, result.get(column))
        for column in _COUNTS:
            entry.number(column, column, result.get(column))
        _set_outcome(entry, result)
        entry.text("operating_system", "device.platform", device.get("platform"))
        entry.number("cpu_cores_logical", "device.cores", device.get("cores"))
        if isinstance(version := result.get("runtime_version"), str):
            entry.set(libraries={"onnxruntime-web": version})
        with suppress(ValueError):
            entry.set(measured_at=parse_time(str(result.get("measured_at") or ""))[0])
        for name, value in result.items():
            entry.detail(name, value)
        for name, value in device.items():
            entry.detail(f"device.{name}", value)
        yield entry


def _set_outcome(entry: FileEntry, result: Mapping[str, Any]) -> None:
    if result.get("status") != "ok":
        entry.fail(str(result.get("reason") or "the page names no reason"))
        return
    entry.set(status="ok")
    durations = result.get("durations_ms")
    entry.durations("durations_ms", durations, "ms")
    entry.number("warmup_iterations", "warmup_iterations", result.get("warmup_iterations"))
    entry.number("latency_median_s", "median_ms", result.get("median_ms"), "ms")
    entry.number("first_latency_s", "first_ms", result.get("first_ms"), "ms")
    if isinstance(durations, list):
        entry.set(iterations=len(durations))
