"""Machines and platforms; unclear values stay in the details."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from orchestrator.exchange.imports.document import last_key, pointer
from orchestrator.exchange.imports.entry import status_in_text
from orchestrator.exchange.imports.formats.legacy.json_object import (
    Context,
    JsonObject,
    Node,
    build_outcome,
    error_line,
)
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from orchestrator.exchange.imports.simulation_marks import marks_in
from runner.contract.errors import SkipEntry

_NO_LIBRARIES = frozenset(("os_version", "python_version", "schema_version", "platform_version"))
_NAME = re.compile(r"(cpu|cuda|openvino|apple|mps|rocm|qualcomm|qnn|webnn|webgpu|tpu)(?:_|$)")
_SUCCESS = re.compile(r"\W*(?:success|ready|real|mock)", re.I)
_FAILURE = re.compile(r"\W*(?:fail|error|exception|traceback)", re.I)
_QUESTIONS = ("input", "prompt")
_STRUCTURE = ("status", "examples", "metadata")
_SENTENCE = 200


def machine_of(whole: JsonObject) -> Context:
    """Columns and details from `system_info` and `hardware_details`."""
    system, hardware = whole.inner("system_info"), whole.inner("hardware_details")
    fields: dict[str, Any] = {"cpu_model": _cpu(hardware)}
    details = hardware.details("hardware_details") if hardware else {}
    if system:
        fields |= {
            "hostname": system.text("hostname"),
            "operating_system": system.text("platform", "os"),
            "machine": system.text("architecture"),
            "python_version": python_of(system),
            "cpu_cores_physical": _positive(system, "cpu_count_physical", "cpu_cores_physical"),
            "cpu_cores_logical": _positive(system, "cpu_count_logical", "cpu_cores_logical"),
            "memory_total_bytes": _positive(system, "total_memory_gb", "memory_total_bytes", "GiB"),
            "libraries": libraries_of(system),
        }
        details |= system.details("system_info")
    return Context({name: value for name, value in fields.items() if value is not None}, details)


def cuda_device_name(whole: JsonObject) -> str | None:
    """The name of the CUDA device, if there is but one."""
    for key in ("system_info", "hardware_details"):
        inside = whole.seen(key)
        devices = inside.get("cuda_devices") if isinstance(inside, dict) else None
        if isinstance(devices, list) and len(devices) == 1 and isinstance(devices[0], dict):
            name = devices[0].get("name")
            return name if isinstance(name, str) else None
    return None


def python_of(entry: JsonObject) -> str | None:
    """Python's version, without what follows it in `sys.version`."""
    version = entry.seen("python_version")
    return next(iter(version.split()), None) if isinstance(version, str) else None


def libraries_of(entry: JsonObject) -> dict[str, str]:
    """Versions of libraries, by `<library>_version`."""
    keys = [key for key in entry.value if key.endswith("_version") and key not in _NO_LIBRARIES]
    versions = ((key.removesuffix("_version"), entry.text(key)) for key in keys)
    return {library: version for library, version in versions if version}


def _cpu(hardware: JsonObject | None) -> str | None:
    devices = hardware.seen("openvino_device_info") if hardware else None
    name = devices.get("CPU") if isinstance(devices, dict) else None
    return name if isinstance(name, str) else None


def _positive(
    entry: JsonObject, key: str, column: str, unit: str | None = None
) -> int | float | None:
    value = entry.seen(key)
    if not isinstance(value, int | float) or not value > 0:
        return None
    try:
        number = entry.number(key, column, unit)
    except SkipEntry:
        return None
    return number if isinstance(number, int) else None


@dataclass
class _Platform:
    """The values of a file about one platform, with the marks in them."""

    location: str
    values: dict[str, Any] = field(default_factory=dict)
    marks: tuple[str, ...] = ()

    def add(self, key: str, value: Any, location: str) -> None:
        self.values[key] = value
        self.marks += marks_in({last_key(location): value}, location.rsplit("/", 1)[0])


def platform_nodes(value: dict[str, Any], location: str, context: Context) -> Iterator[Node]:
    """One node for each platform that says how it ended."""
    inside = _context(value, location, context)
    for name, platform in _platforms(value, location).items():
        ending = _ending(platform.values)
        if ending:
            of_script = ending["status"] == "ok" and "status" in context.fields
            fields = {**inside.fields, "backend": name, **({} if of_script else ending)}
            marks = (*inside.marks, *platform.marks)
            yield Node(
                platform.values,
                platform.location,
                _platform,
                Context(fields, inside.details, marks),
            )


def names_platforms(value: Any) -> bool:
    """True if it names platforms."""
    return isinstance(value, dict) and bool(_platforms(value, ""))


def _platform(entry: JsonObject, context: Context) -> ImportedMeasurement:
    device = _device(entry) if context.fields["backend"] == "cuda" else None
    return build_outcome(entry, context, {"device_name": device}, marks=())


def _platforms(value: dict[str, Any], location: str) -> dict[str, _Platform]:
    platforms: dict[str, _Platform] = {}
    for name, key, item, where in (*_named(value, location), *_examples(value, location)):
        platforms.setdefault(name, _Platform(where)).add(key, item, where)
    metadata = value.get("metadata")
    statuses = metadata.get("platform_status") if isinstance(metadata, dict) else None
    for name, status in statuses.items() if isinstance(statuses, dict) else ():
        if name in platforms:
            where = pointer(location, "metadata", "platform_status", name)
            platforms[name].add("platform_status", status, where)
    return platforms


def _named(value: dict[str, Any], location: str) -> Iterator[tuple[str, str, Any, str]]:
    """Values under a platform's name, or under a key that begins with it."""
    for key, item in value.items():
        where, match = pointer(location, key), _NAME.match(key.lower())
        if key == "status" and isinstance(item, dict):
            yield from _named(item, where)
        elif match and isinstance(item, dict) and key.lower() == match[1]:
            yield from (
                (match[1], inner, below, pointer(where, inner)) for inner, below in item.items()
            )
        elif match and item is not None:
            yield match[1], key, item, where


def _examples(value: dict[str, Any], location: str) -> Iterator[tuple[str, str, Any, str]]:
    examples = value.get("examples")
    for index, example in enumerate(examples if isinstance(examples, list) else ()):
        name = example.get("platform") if isinstance(example, dict) else None
        if isinstance(name, str) and name.strip():
            key = f"examples.{index}"
            yield name.strip().lower(), key, example, pointer(location, "examples", index)


def _context(value: dict[str, Any], location: str, context: Context) -> Context:
    shared = {
        key: item
        for key, item in value.items()
        if key not in _STRUCTURE and not _NAME.match(key.lower())
    }
    metadata = value.get("metadata")
    about = JsonObject(
        metadata if isinstance(metadata, dict) else {}, pointer(location, "metadata")
    )
    fields = {
        "measured_at": about.moment("timestamp", "test_timestamp"),
        "python_version": python_of(about),
        "libraries": libraries_of(about),
    }
    own = {name: item for name, item in fields.items() if item}
    marks = (
        *context.marks,
        *marks_in(shared, location),
        *marks_in(about.value, about.location, without=("platform_status",)),
    )
    details = {
        **context.details,
        **JsonObject(shared, location).details(),
        **about.details("metadata"),
    }
    return Context({**context.fields, **own}, details, marks)


def _ending(values: dict[str, Any]) -> dict[str, Any] | None:
    signs = [sign for key, text in _texts(values, "") if (sign := _sign(key, text))]
    bad = next((sign for sign in signs if sign["status"] != "ok"), None)
    return bad or next(iter(signs), None)


def _sign(key: str, text: str) -> dict[str, Any] | None:
    if _SUCCESS.match(text):
        return {"status": "ok"}
    reason = f"{key}: {error_line(text)}"
    if _FAILURE.match(text) or key.endswith("error"):
        return {"status": status_in_text(text) or "failed", "reason": reason}
    status = (status_in_text(text) if len(text) <= _SENTENCE else None) or "ok"
    return {"status": status, "reason": reason} if status != "ok" else None


def _texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Each text and its dotted name, without the model's inputs."""
    if isinstance(value, str) and value.strip():
        yield name, value
    for key, item in value.items() if isinstance(value, dict) else ():
        if not key.startswith(_QUESTIONS):
            yield from _texts(item, f"{name}.{key}" if name else key)


def _device(entry: JsonObject) -> str | None:
    for key in ("cuda_capabilities", "capabilities"):
        capabilities = entry.seen(key)
        if isinstance(capabilities, dict) and isinstance(capabilities.get("device_name"), str):
            return str(capabilities["device_name"])
    return None
