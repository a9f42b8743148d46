"""optimum-benchmark's reports: `benchmark_report.json`, and `benchmark.json` with its config.

A report has a target for each thing that was tracked, such as `load_model`, `first_forward`,
`forward`, `prefill`, `decode`, `per_token` and `generate`; what belongs to one measurement becomes
one entry. `benchmark_config.json` beside it names model and device. A failure that was published is
a report of a `traceback` alone.

By its own code, memory is MB of 10^6 bytes, and energy is codecarbon's mean of one call. No column
takes what ours mean otherwise: `stdev` is the population's, the throughput of `generate` counts
tokens with some runtimes, that of `train` counts the samples of all steps in the time of one, and
a latency of the scenario `energy_star` is the time of the whole data set.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.exchange.imports.document import TOP, Document
from orchestrator.exchange.imports.entry import FileEntry, Reading, gather
from orchestrator.exchange.imports.measurement import is_null
from orchestrator.exchange.imports.simulation_marks import marks_in
from orchestrator.system.problems import quote
from runner.contract.errors import DamagedFile

JsonTree = dict[str, Any]
_ERRORS = ("traceback", "error")
_PRECISIONS = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
_NO_CPU = "Could not find device name"
_SIZES = {
    "batch_size": ("input_shapes.batch_size", "training_arguments.per_device_train_batch_size"),
    "sequence_length": ("input_shapes.sequence_length", "dataset_shapes.sequence_length"),
    "new_tokens": ("generate_kwargs.max_new_tokens", "new_tokens"),
    "warmup_iterations": ("warmup_runs", "warmup_steps"),
}
"""Columns, and their paths in the scenario: the first one that is given counts."""
_KINDS = ("memory", "latency", "throughput", "energy", "efficiency")
_GENERATION = ("generate", "decode", "prefill", "per_token")
_MODES = {
    "generation": "generation",
    **dict.fromkeys(("forward", "call"), "inference"),
    "train": "training",
}
_LOADS = ("load_model", "load")
_AROUND = frozenset(
    {*_LOADS, "warmup", "overall", "load_dataset", "preprocess_dataset", "per_step"}
)
_LATENCY = {
    "iterations": "count",
    "steady_time_s": "total",
    "latency_mean_s": "mean",
    "latency_median_s": "p50",
    **{f"latency_{name}_s": name for name in ("p50", "p90", "p95", "p99")},
}
_MEMORY = {"memory_peak_bytes": "max_ram", "memory_allocator_peak_bytes": "max_allocated"}
_PARTS = {"prefill": "first_token", "decode": "decode", "per_token": "per_token"}
_UNITS = {"latency": "s", "memory": "MB", "energy": "kWh"}


class OptimumBenchmark:
    """The format of Hugging Face's optimum-benchmark."""

    name = "optimum-benchmark"
    source = "optimum-benchmark"

    def recognises(self, document: Document) -> bool:
        data = document.json
        if not isinstance(data, dict):
            return False
        if any(map(_is_target, data.values())) or _is_config(data):
            return True
        if _error_of(data) is not None and data.keys() <= set(_ERRORS):
            return _read_beside(document, "config") is not None
        return _is_config(data.get("config")) and isinstance(data.get("report"), dict)

    def read(self, document: Document) -> Reading:
        data = document.json
        if _is_config(data):
            return Reading(nothing="the config of a run of optimum-benchmark")
        nothing = "a report of optimum-benchmark in which nothing was tracked"
        if _is_config(data.get("config")):
            report, beside = _table(data, "report"), marks_in(data, without=("report", "config"))
            marks = (*beside, *marks_in(data["config"], "/config"), *marks_in(report, "/report"))
            return gather(_entries(_Run(report, "/report", data["config"], marks)), nothing)
        whole, config = (_read_beside(document, part) for part in ("whole", "config"))
        if whole is not None and json.dumps(whole.json.get("report")) == json.dumps(data):
            return Reading(nothing=f"the report that {whole.path.name} beside it holds as well")
        if config is None:
            message = "names no model: its benchmark_config.json, which does, is not beside it"
            raise DamagedFile(message)
        marks = (*marks_in(config.json, config.path.name), *marks_in(data))
        run = _Run(data, "", config.json, marks, config.sha256)
        return replace(gather(_entries(run), nothing), beside=(config.sha256,))


def _read_beside(document: Document, part: str) -> Document | None:
    """The config, or the report with its config, that was written together with a report."""
    name = document.path.name
    other = name.replace("_report", "_config") if part == "config" else name.replace("_report", "")
    path = document.path.with_name(other)
    if other == name or not path.is_file():
        return None
    try:
        beside = Document.read(path)
    except DamagedFile:
        return None
    data = beside.json if isinstance(beside.json, dict) else {}
    return beside if _is_config(data if part == "config" else data.get("config")) else None


def _is_config(data: Any) -> bool:
    if not isinstance(data, dict) or not isinstance(backend := data.get("backend"), dict):
        return False
    target = str(backend.get("_target_", ""))
    parts = (data.get("scenario", data.get("benchmark")), data.get("launcher"))
    return target.startswith("optimum_benchmark.") or (
        "model" in backend and all(isinstance(part, dict) for part in parts)
    )


def _error_of(report: JsonTree) -> str | None:
    error = next((report[key] for key in _ERRORS if report.get(key)), None)
    return error if error is None or isinstance(error, str) else json.dumps(error)


@dataclass(frozen=True)
class _Run:
    """A report with its config, and the simulation marks in and beside both."""

    report: JsonTree
    location: str
    config: JsonTree
    marks: tuple[str, ...]
    config_sha256: str | None = None
    """Hash of the config's own file; None if it is in the same file."""

    def entry(self, location: str) -> FileEntry:
        entry = FileEntry(location)
        entry.mark(*self.marks)
        _describe(entry, self.config)
        entry.detail("config_sha256", self.config_sha256)
        return entry


def _entries(run: _Run) -> Iterator[FileEntry]:
    if error := _error_of(run.report):
        entry = run.entry(run.location or TOP)
        entry.fail(error)
        yield entry
    scenario = _table(run.config, "scenario", "benchmark").get("name", "")
    of_data_set = str(scenario).replace("-", "_") == "energy_star"
    for subject, name, report in _measurements_in(run.report):
        entry = run.entry(f"{run.location}/{name}")
        entry.set(status="ok", mode=_MODES.get(subject))
        entry.measures = True
        _Targets(entry, report).fill(subject, name, of_data_set=of_data_set)
        yield entry


def _measurements_in(report: JsonTree) -> Iterator[tuple[str, str, JsonTree]]:
    """Each measurement: its subject, its most informative target, and all of its targets."""
    filled = [name for name, target in report.items() if _is_target(target) and _is_filled(target)]
    around = {name: report[name] for name in report if name not in filled or _is_around(name)}
    generation = {name: report[name] for name in _GENERATION if name in filled}
    if generation:
        yield "generation", next(iter(generation)), around | generation
    rest = [name for name in filled if name not in _GENERATION and name not in around]
    yield from ((name, name, around | {name: report[name]}) for name in rest)
    if filled and not generation and not rest:
        yield "load", filled[0], around


def _is_target(target: Any) -> bool:
    if not isinstance(target, dict):
        return False
    tables = [target[kind] for kind in _KINDS if isinstance(target.get(kind), dict)]
    return any("unit" in table for table in tables) or (
        target.keys() >= set(_KINDS) and not any(target.values())
    )


def _is_filled(target: JsonTree) -> bool:
    """True if a kind of measurement holds a value, or is no table, which becomes a fault."""
    for kind in filter(None, map(target.get, _KINDS)):
        if not isinstance(kind, dict):
            return True
        if any(kind[key] != [] and not is_null(kind[key]) for key in kind if key != "unit"):
            return True
    return False


def _is_around(name: str) -> bool:
    return name in _AROUND or name.startswith("first_")


@dataclass(frozen=True)
class _Targets:
    """Reads values of targets into an entry."""

    entry: FileEntry
    report: JsonTree
    """The targets of one measurement, and those about loading and first calls."""

    def fill(self, subject: str, target: str, *, of_data_set: bool) -> None:
        for key, tables in self.report.items():
            for kind in _KINDS if _is_target(tables) else ():
                if not isinstance(tables.get(kind), dict | None):
                    message = f"{quote(tables[kind])} is not a table of measurements"
                    self.entry.fault(f"report.{key}.{kind}", message)
        name = "generate" if subject == "generation" else target
        for load in _LOADS:
            self.number("load_time_s", load, "latency", "mean")
        self.number("first_latency_s", f"first_{name}", "latency", "mean")
        if not _is_around(name):
            self.memory("generate" if "generate" in self.report else target)
            self.energy(name, "the whole data set" if of_data_set else "one call")
            self.latency(name, of_data_set=of_data_set)
            self.rate("decode_throughput", "decode", "tokens/s")
            if name == "forward":
                self.rate("throughput", name, "samples/s")
        self.entry.detail("report", self.report)

    def memory(self, name: str) -> None:
        for column, key in _MEMORY.items():
            self.number(column, name, "memory", key)
        # In a container the driver does not know the process by its number, and 0 is reported.
        if self.kind(name, "memory").get("max_process_vram"):
            self.number("memory_device_peak_bytes", name, "memory", "max_process_vram")

    def energy(self, name: str, span: str) -> None:
        self.number("energy_joules", name, "energy", "total")
        if self.kind(name, "energy").get("total") is not None:
            self.entry.detail("energy_joules", f"of {span}, as codecarbon estimates it")
        table = self.kind(name, "efficiency")
        value = table.get("value")
        if table.get("unit") == "samples/kWh" and isinstance(value, int | float) and value > 0:
            location, joules_per_kwh = f"report.{name}.efficiency.value", 3_600_000
            self.entry.number("energy_per_sample_joules", location, joules_per_kwh / value)

    def latency(self, name: str, *, of_data_set: bool) -> None:
        if of_data_set:
            self.number("steady_time_s", name, "latency", "total")
            return
        for column, key in _LATENCY.items():
            self.number(column, name, "latency", key)
        self.number("time_to_first_token_mean_s", "prefill", "latency", "mean")
        self.number("inter_token_latency_mean_s", "per_token", "latency", "mean")
        for target, part in ((name, None), *_PARTS.items()):
            table = self.kind(target, "latency")
            unit = str(table.get("unit") or _UNITS["latency"])
            self.entry.durations(f"report.{target}.latency.values", table.get("values"), unit, part)

    def kind(self, name: str, kind: str) -> JsonTree:
        return _table(_table(self.report, name), kind)

    def number(self, column: str, name: str, kind: str, key: str) -> None:
        table = self.kind(name, kind)
        unit = None if key == "count" else str(table.get("unit") or _UNITS[kind])
        self.entry.number(column, f"report.{name}.{kind}.{key}", table.get(key), unit)

    def rate(self, column: str, name: str, unit: str) -> None:
        table = self.kind(name, "throughput")
        if table.get("unit") == unit:
            self.entry.number(column, f"report.{name}.throughput.value", table.get("value"))


def _table(tree: JsonTree, *names: str) -> JsonTree:
    return next((tree[name] for name in names if isinstance(tree.get(name), dict)), {})


def _describe(entry: FileEntry, config: JsonTree) -> None:
    backend, environment = _table(config, "backend"), _table(config, "environment")
    cpu = None if environment.get("cpu") == _NO_CPU else environment.get("cpu")
    device = str(backend.get("device") or "").split(":")[0].lower() or None
    for column in ("model", "task"):
        entry.text(column, f"config.backend.{column}", backend.get(column))
    _software(entry, backend, environment)
    _sizes(entry, _table(config, "scenario", "benchmark"))
    entry.text("cpu_model", "config.environment.cpu", cpu)
    for column, key in (("machine", "machine"), ("operating_system", "platform")):
        entry.text(column, f"config.environment.{key}", environment.get(key))
    cores, memory = environment.get("cpu_count"), environment.get("cpu_ram_mb")
    entry.number("cpu_cores_logical", "config.environment.cpu_count", cores)
    entry.number("memory_total_bytes", "config.environment.cpu_ram_mb", memory, "MB")
    entry.set(backend=device)
    if device == "cpu":
        entry.text("device_name", "config.environment.cpu", cpu)
    elif device == "cuda":
        gpu = _gpu(environment.get("gpu"), str(backend.get("device_ids") or ""))
        entry.text("device_name", "config.environment.gpu", gpu)
    entry.detail("config", config)


def _software(entry: FileEntry, backend: JsonTree, environment: JsonTree) -> None:
    name = str(backend.get("name", ""))
    runtime = "torch" if name == "pytorch" else name or None
    compiled = runtime == "torch" and backend.get("torch_compile") is True
    entry.set(runtime="torch_compile" if compiled else runtime, precision=_precision(backend))
    python = environment.get("python_version")
    entry.text("python_version", "config.environment.python_version", python)
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
    mixed = ("autocast_enabled", "quantization_scheme", "quantization_config")
    if any(backend.get(key) for key in mixed):
        return None
    named = (backend.get(key) for key in ("torch_dtype", "dtype"))
    return next((_PRECISIONS[str(name)] for name in named if str(name) in _PRECISIONS), None)


def _sizes(entry: FileEntry, scenario: JsonTree) -> None:
    for column, paths in _SIZES.items():
        for path in paths:
            table, _, key = path.rpartition(".")
            values = _table(scenario, table) if table else scenario
            if not is_null(values.get(key)):
                entry.number(column, f"config.scenario.{path}", values[key])
                break
    shapes = _table(scenario, "input_shapes")
    if not is_null(shapes.get("height")) and shapes.get("height") == shapes.get("width"):
        entry.number("image_size", "config.scenario.input_shapes.height", shapes["height"])


def _gpu(names: Any, device_ids: str) -> Any:
    """The accelerator's name: ids count in PCI order, as the list of names does."""
    if not isinstance(names, list):
        return names
    if len(set(map(str, names))) == 1:
        return names[0]
    chosen = int(device_ids) if device_ids.isdecimal() and device_ids.isascii() else -1
    return names[chosen] if 0 <= chosen < len(names) else None
