"""optimum-benchmark's reports: `benchmark_report.json`, and `benchmark.json` with its config.

A report has a target for each thing that was tracked: `load_model`, `first_forward`, `forward`;
`prefill`, `decode`, `per_token`, `generate`; `call`; `train`. What belongs to one measurement
becomes one entry. The report names neither model nor device: the config beside it does,
`benchmark_config.json`. A failure that was published is a report of a `traceback` alone.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orchestrator.exchange.imports.document import TOP, Document
from orchestrator.exchange.imports.entry import (
    FileEntry,
    Reading,
    failure_status,
    gather,
    summarize_error,
)
from orchestrator.exchange.imports.formats.optimum_targets import (
    JsonTree,
    fill_entry,
    is_report,
    targets_in,
)
from orchestrator.exchange.imports.measurement import is_null
from orchestrator.exchange.imports.simulation_marks import marks_in
from runner.contract.errors import DamagedFile

_RUNTIMES = {"pytorch": "torch"}
_PRECISIONS = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
_NO_CPU = "Could not find device name"
_SIZES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "batch_size": (
        ("input_shapes", "batch_size"),
        ("training_arguments", "per_device_train_batch_size"),
    ),
    "sequence_length": (("input_shapes", "sequence_length"), ("dataset_shapes", "sequence_length")),
    "new_tokens": (("generate_kwargs", "max_new_tokens"), ("", "new_tokens")),
    "warmup_iterations": (("", "warmup_runs"), ("", "warmup_steps")),
}
"""Columns, and their paths in the scenario: the first one that is given counts."""
_ERRORS = ("traceback", "error")


def _describe(entry: FileEntry, config: JsonTree) -> None:
    """Fill the entry's columns about model and host; all else becomes details."""
    backend, scenario = _table(config, "backend"), _table(config, "scenario", "benchmark")
    environment = _table(config, "environment")
    entry.text("model", "config.backend.model", backend.get("model"))
    entry.text("task", "config.backend.task", backend.get("task"))
    _software(entry, backend, environment)
    _sizes(entry, scenario)
    _machine(entry, environment)
    _device(entry, backend, environment)
    entry.detail("config", config)


def _scenario_of(config: JsonTree) -> str:
    """The scenario's name in the config: `inference`, `training`, `energy_star`."""
    return str(_table(config, "scenario", "benchmark").get("name", "")).replace("-", "_")


def _table(tree: JsonTree, *names: str) -> JsonTree:
    return next((tree[name] for name in names if isinstance(tree.get(name), dict)), {})


def _software(entry: FileEntry, backend: JsonTree, environment: JsonTree) -> None:
    name = str(backend.get("name", ""))
    runtime = _RUNTIMES.get(name, name) or None
    compiled = runtime == "torch" and backend.get("torch_compile") is True
    entry.set(runtime="torch_compile" if compiled else runtime, precision=_precision(backend))
    entry.text(
        "python_version", "config.environment.python_version", environment.get("python_version")
    )
    libraries = {
        key.removesuffix("_version").replace("_", "-"): str(version)
        for key, version in environment.items()
        if key.endswith("_version") and key != "python_version" and not is_null(version)
    }
    if runtime and not is_null(backend.get("version")):
        libraries[runtime] = str(backend["version"])
    entry.set(libraries=libraries)


def _precision(backend: JsonTree) -> str | None:
    """The type of weights and arithmetic, where one type is all that the config names."""
    mixed = backend.get("autocast_enabled") or backend.get("quantization_scheme")
    if mixed or backend.get("quantization_config"):
        return None
    named = (backend.get(key) for key in ("torch_dtype", "dtype"))
    return next((_PRECISIONS[str(name)] for name in named if str(name) in _PRECISIONS), None)


def _sizes(entry: FileEntry, scenario: JsonTree) -> None:
    for column, names in _SIZES.items():
        for table, key in names:
            values = _table(scenario, table) if table else scenario
            if not is_null(values.get(key)):
                name = ".".join(filter(None, ("config.scenario", table, key)))
                entry.number(column, name, values[key])
                break
    shapes = _table(scenario, "input_shapes")
    if not is_null(shapes.get("height")) and shapes.get("height") == shapes.get("width"):
        entry.number("image_size", "config.scenario.input_shapes.height", shapes["height"])


def _machine(entry: FileEntry, environment: JsonTree) -> None:
    cpu = environment.get("cpu")
    entry.text("cpu_model", "config.environment.cpu", None if cpu == _NO_CPU else cpu)
    entry.text("machine", "config.environment.machine", environment.get("machine"))
    entry.text("operating_system", "config.environment.platform", environment.get("platform"))
    cores, memory = environment.get("cpu_count"), environment.get("cpu_ram_mb")
    entry.number("cpu_cores_logical", "config.environment.cpu_count", cores)
    entry.number("memory_total_bytes", "config.environment.cpu_ram_mb", memory, "MB")


def _device(entry: FileEntry, backend: JsonTree, environment: JsonTree) -> None:
    device = str(backend.get("device") or "").split(":")[0].lower() or None
    entry.set(backend=device)
    if device == "cpu":
        cpu = environment.get("cpu")
        entry.text("device_name", "config.environment.cpu", None if cpu == _NO_CPU else cpu)
    elif device == "cuda":
        gpu = _gpu(environment.get("gpu"), str(backend.get("device_ids") or ""))
        entry.text("device_name", "config.environment.gpu", gpu)


def _gpu(names: Any, device_ids: str) -> Any:
    """The accelerator's name: ids count in PCI order, as the list of names does."""
    if not isinstance(names, list):
        return names
    if len(set(map(str, names))) == 1:
        return names[0]
    chosen = int(device_ids) if device_ids.isdecimal() and device_ids.isascii() else -1
    return names[chosen] if 0 <= chosen < len(names) else None


class OptimumBenchmark:
    """The format of Hugging Face's optimum-benchmark."""

    name = "optimum-benchmark"
    source = "optimum-benchmark"

    def recognises(self, document: Document) -> bool:
        """True if it is a report, a config or both in one."""
        data = document.json
        if not isinstance(data, dict):
            return False
        if is_report(data) or _is_config(data):
            return True
        if _is_failure(data):
            return _read_beside(document, "config") is not None
        report, config = data.get("report"), data.get("config")
        return _is_config(config) and isinstance(report, dict)

    def read(self, document: Document) -> Reading:
        """Read one measurement for each subject of the report."""
        data = document.json
        if _is_config(data):
            return Reading(nothing="the config of a run of optimum-benchmark")
        if not _is_config(data.get("config")):
            return _read_report(document, data)
        marks = marks_in(data, without=("report", "config"))
        return _read_parts(_Parts(data["report"], "/report", data["config"], "/config", marks))


@dataclass(frozen=True)
class _Parts:
    report: JsonTree
    report_location: str
    config: JsonTree
    config_location: str
    marks: tuple[str, ...] = ()
    """Simulation marks beside both."""
    config_sha256: str | None = None
    """Hash of the config's own file; None if it is in the same file."""


def _read_report(document: Document, report: JsonTree) -> Reading:
    whole = _read_beside(document, "whole")
    if whole is not None and json.dumps(whole.json.get("report")) == json.dumps(report):
        return Reading(nothing=f"the report that {whole.path.name} beside it holds as well")
    config = _read_beside(document, "config")
    if config is None:
        raise DamagedFile("names no model: its benchmark_config.json, which does, is not beside it")
    return _read_parts(
        _Parts(report, "", config.json, config.path.name, config_sha256=config.sha256)
    )


def _read_parts(parts: _Parts) -> Reading:
    reading = gather(_entries(parts), "a report of optimum-benchmark in which nothing was tracked")
    return replace(reading, beside=(parts.config_sha256,)) if parts.config_sha256 else reading


def _entries(parts: _Parts) -> Iterator[FileEntry]:
    if error := _error_of(parts.report):
        entry = _entry(parts, parts.report_location or TOP)
        entry.set(status=failure_status(error), reason=summarize_error(error))
        yield entry
    of_data_set = _scenario_of(parts.config) == "energy_star"
    for target in targets_in(parts.report):
        entry = _entry(parts, f"{parts.report_location}/{target.name}")
        entry.set(status="ok")
        fill_entry(entry, target, of_data_set)
        yield entry


def _entry(parts: _Parts, location: str) -> FileEntry:
    entry = FileEntry(location)
    entry.mark(*parts.marks)
    entry.mark(*marks_in(parts.config, parts.config_location))
    entry.mark(*marks_in(parts.report, parts.report_location))
    _describe(entry, parts.config)
    entry.detail("config_sha256", parts.config_sha256)
    return entry


def _read_beside(document: Document, part: str) -> Document | None:
    """The config, or the report with its config, that was written together with a report."""
    name = document.path.name
    other = name.replace("_report", "_config") if part == "config" else name.replace("_report", "")
    path = document.path.with_name(other)
    if other == name or not path.is_file():
        return None
    beside = _read(path)
    if beside is None or not isinstance(beside.json, dict):
        return None
    config = beside.json if part == "config" else beside.json.get("config")
    return beside if _is_config(config) else None


def _read(path: Path) -> Document | None:
    try:
        return Document.read(path)
    except DamagedFile:
        return None


def _is_config(data: Any) -> bool:
    if not isinstance(data, dict) or not isinstance(backend := data.get("backend"), dict):
        return False
    target = str(backend.get("_target_", ""))
    parts = (data.get("scenario", data.get("benchmark")), data.get("launcher"))
    return target.startswith("optimum_benchmark.") or (
        "model" in backend and all(isinstance(part, dict) for part in parts)
    )


def _is_failure(data: JsonTree) -> bool:
    return _error_of(data) is not None and data.keys() <= set(_ERRORS)


def _error_of(report: JsonTree) -> str | None:
    """The error of a run that has no measurement."""
    error = next((report[key] for key in _ERRORS if report.get(key)), None)
    return error if error is None or isinstance(error, str) else json.dumps(error)
