"""Results of the page for one's own device, see `orchestrator browser serve`.

They come from a browser that anybody may hold, so they are another source's: imported, and never
proven. Durations are the page's own, in milliseconds.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.exchange.imports.document import TOP, Document, parse_time, pointer
from orchestrator.exchange.imports.entry import FileEntry, Reading, gather
from orchestrator.exchange.imports.simulation_marks import marks_in
from runner.contract.errors import DamagedFile

_FORMAT = "accelmatrix-page"
_VERSION = 1
_RUNTIME = "onnxruntime_web"
_TEXTS = ("model", "backend", "precision", "device_name")
_COUNTS = ("batch_size", "sequence_length", "image_size", "audio_seconds", "parameters")
_TIMES = {"latency_median_s": "median_ms", "first_latency_s": "first_ms"}
_DEVICE = "device"
_NO_MARKS = ("notes",)
"""Sentences for the user of the page."""


class DevicePage:
    """The format of the page's downloads."""

    name = _FORMAT
    source = _FORMAT

    def recognises(self, document: Document) -> bool:
        """True for an object that names the format."""
        content = document.json
        return isinstance(content, dict) and content.get("format") == _FORMAT

    def read(self, document: Document) -> Reading:
        """Read one measurement or failure for each result."""
        content = document.json if isinstance(document.json, dict) else {}
        if content.get("version") != _VERSION:
            raise DamagedFile(
                f"/version: {content.get('version')!r} is not {_VERSION}, which this release reads"
            )
        if not isinstance(content.get("results"), list):
            raise DamagedFile("/results: there is no list of results")
        device = content.get(_DEVICE)
        facts = device if isinstance(device, dict) else {}
        return gather(_entries(content["results"], facts), "a download without results")


def _entries(results: list[Any], device: Mapping[str, Any]) -> Iterator[FileEntry]:
    for number, result in enumerate(results):
        location = pointer(TOP, "results", number)
        if isinstance(result, dict):
            yield _entry(FileEntry(location), result, device)
        else:
            yield FileEntry(location, f"{location}: it is no object")


def _entry(entry: FileEntry, result: Mapping[str, Any], device: Mapping[str, Any]) -> FileEntry:
    entry.mark(*marks_in(result, entry.location, _NO_MARKS))
    entry.set(runtime=_RUNTIME, mode="inference", scenario="single_stream")
    for column in _TEXTS:
        entry.text(column, column, result.get(column))
    for column in _COUNTS:
        entry.number(column, column, result.get(column))
    _set_outcome(entry, result)
    _set_device(entry, result, device)
    for name, value in result.items():
        entry.detail(name, value)
    for name, value in device.items():
        entry.detail(f"{_DEVICE}.{name}", value)
    return entry


def _set_outcome(entry: FileEntry, result: Mapping[str, Any]) -> None:
    if result.get("status") != "ok":
        entry.fail(str(result.get("reason") or "the page names no reason"))
        return
    entry.set(status="ok")
    entry.durations("durations_ms", result.get("durations_ms"), "ms")
    entry.number("warmup_iterations", "warmup_iterations", result.get("warmup_iterations"))
    for column, name in _TIMES.items():
        entry.number(column, name, result.get(name), "ms")
    durations = result.get("durations_ms")
    if isinstance(durations, list):
        entry.set(iterations=len(durations))


def _set_device(entry: FileEntry, result: Mapping[str, Any], device: Mapping[str, Any]) -> None:
    entry.text("operating_system", f"{_DEVICE}.platform", device.get("platform"))
    entry.number("cpu_cores_logical", f"{_DEVICE}.cores", device.get("cores"))
    version = result.get("runtime_version")
    if isinstance(version, str):
        entry.set(libraries={"onnxruntime-web": version})
    try:
        moment, _ = parse_time(str(result.get("measured_at") or ""))
    except ValueError:
        return
    entry.set(measured_at=moment)
