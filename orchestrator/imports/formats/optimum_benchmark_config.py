"""What optimum-benchmark's config says: model, device, sizes and machine."""

from collections.abc import Mapping
from typing import Any

from orchestrator.imports.entry import Entry
from orchestrator.imports.quantities import says_nothing

Tree = dict[str, Any]
RUNTIMES = {"pytorch": "torch"}
PRECISIONS = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
NO_CPU = "Could not find device name"
SIZES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "batch_size": (
        ("input_shapes", "batch_size"),
        ("training_arguments", "per_device_train_batch_size"),
    ),
    "sequence_length": (
        ("input_shapes", "sequence_length"),
        ("dataset_shapes", "sequence_length"),
    ),
    "new_tokens": (("generate_kwargs", "max_new_tokens"), ("", "new_tokens")),
    "warmup_iterations": (("", "warmup_runs"), ("", "warmup_steps")),
}
"""Columns, and where in the scenario they stand: the first one that is given counts."""


def describe(entry: Entry, config: Tree) -> None:
    """Fill the entry's columns about model and surroundings; all else becomes details."""
    backend, scenario = _table(config, "backend"), _table(config, "scenario", "benchmark")
    environment = _table(config, "environment")
    entry.text("model", "config.backend.model", backend.get("model"))
    entry.text("task", "config.backend.task", backend.get("task"))
    _software(entry, backend, environment)
    _sizes(entry, scenario)
    _machine(entry, environment)
    _device(entry, backend, environment)
    entry.detail("config", config)


def scenario_of(config: Tree) -> str:
    """The config's name for what was done: `inference`, `training`, `energy_star`."""
    return str(_table(config, "scenario", "benchmark").get("name", "")).replace("-", "_")


def _table(tree: Tree, *names: str) -> Tree:
    return next((tree[name] for name in names if isinstance(tree.get(name), dict)), {})


def _software(entry: Entry, backend: Tree, environment: Tree) -> None:
    name = str(backend.get("name", ""))
    runtime = RUNTIMES.get(name, name) or None
    compiled = runtime == "torch" and backend.get("torch_compile") is True
    entry.set(runtime="torch_compile" if compiled else runtime, precision=_precision(backend))
    entry.text(
        "python_version", "config.environment.python_version", environment.get("python_version")
    )
    libraries = {
        key.removesuffix("_version").replace("_", "-"): str(version)
        for key, version in environment.items()
        if key.endswith("_version") and key != "python_version" and not says_nothing(version)
    }
    if runtime and not says_nothing(backend.get("version")):
        libraries[runtime] = str(backend["version"])
    entry.set(libraries=libraries)


def _precision(backend: Tree) -> str | None:
    """The type of weights and arithmetic, where one type is all that the config names."""
    mixed = backend.get("autocast_enabled") or backend.get("quantization_scheme")
    if mixed or backend.get("quantization_config"):
        return None
    named = (backend.get(key) for key in ("torch_dtype", "dtype"))
    return next((PRECISIONS[str(name)] for name in named if str(name) in PRECISIONS), None)


def _sizes(entry: Entry, scenario: Tree) -> None:
    for column, names in SIZES.items():
        for table, key in names:
            values = _table(scenario, table) if table else scenario
            if not says_nothing(values.get(key)):
                name = ".".join(filter(None, ("config.scenario", table, key)))
                entry.number(column, name, values[key])
                break
    shapes = _table(scenario, "input_shapes")
    if not says_nothing(shapes.get("height")) and shapes.get("height") == shapes.get("width"):
        entry.number("image_size", "config.scenario.input_shapes.height", shapes["height"])


def _machine(entry: Entry, environment: Tree) -> None:
    cpu = environment.get("cpu")
    entry.text("cpu_model", "config.environment.cpu", None if cpu == NO_CPU else cpu)
    entry.text("machine", "config.environment.machine", environment.get("machine"))
    entry.text("operating_system", "config.environment.platform", environment.get("platform"))
    cores, memory = environment.get("cpu_count"), environment.get("cpu_ram_mb")
    entry.number("cpu_cores_logical", "config.environment.cpu_count", cores)
    entry.number("memory_total_bytes", "config.environment.cpu_ram_mb", memory, "MB")


def _device(entry: Entry, backend: Tree, environment: Tree) -> None:
    device = str(backend.get("device") or "").split(":")[0].lower() or None
    entry.set(backend=device)
    if device == "cpu":
        cpu = environment.get("cpu")
        entry.text("device_name", "config.environment.cpu", None if cpu == NO_CPU else cpu)
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
