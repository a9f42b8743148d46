"""What a file says of the machine; what it says unclearly stays in the details."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from orchestrator.imports.document import last, under
from orchestrator.imports.formats.base import NotReadable
from orchestrator.imports.formats.legacy.build import cause, telling, verdict
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.marks import marks_in
from orchestrator.imports.measurement import Found, NumberQuantities

_NO_LIBRARIES = frozenset(("os_version", "python_version", "schema_version", "platform_version"))


def machine_of(whole: Entry) -> Around:
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
    return Around({name: value for name, value in fields.items() if value is not None}, details)


def cuda_device(whole: Entry) -> str | None:
    """The name of the CUDA device, if there is but one."""
    for key in ("system_info", "hardware_details"):
        inside = whole.seen(key)
        devices = inside.get("cuda_devices") if isinstance(inside, dict) else None
        if isinstance(devices, list) and len(devices) == 1 and isinstance(devices[0], dict):
            name = devices[0].get("name")
            return name if isinstance(name, str) else None
    return None


def python_of(entry: Entry) -> str | None:
    """Python's version, without what follows it in `sys.version`."""
    version = entry.seen("python_version")
    return next(iter(version.split()), None) if isinstance(version, str) else None


def libraries_of(entry: Entry) -> dict[str, str]:
    """Versions of libraries, by `<library>_version`."""
    keys = [key for key in entry.value if key.endswith("_version") and key not in _NO_LIBRARIES]
    versions = ((key.removesuffix("_version"), entry.text(key)) for key in keys)
    return {library: version for library, version in versions if version}


def _cpu(hardware: Entry | None) -> str | None:
    devices = hardware.seen("openvino_device_info") if hardware else None
    name = devices.get("CPU") if isinstance(devices, dict) else None
    return name if isinstance(name, str) else None


def _positive(
    entry: Entry, key: str, column: str, unit: str | None = None
) -> NumberQuantities | None:
    value = entry.seen(key)
    if not isinstance(value, int | float) or not value > 0:
        return None
    try:
        number = entry.number(key, column, unit)
    except NotReadable:
        return None
    return number if isinstance(number, int) else None


_NAME = re.compile(r"(cpu|cuda|openvino|apple|mps|rocm|qualcomm|qnn|webnn|webgpu|tpu)(?:_|$)")
_WELL = re.compile(r"\W*(?:success|ready|real|mock)", re.I)
_BADLY = re.compile(r"\W*(?:fail|error|exception|traceback)", re.I)
_ASKED = ("input", "prompt")
_STRUCTURE = ("status", "examples", "metadata")
_SENTENCE = 200


@dataclass
class _Platform:
    """What the file tells of one, and where each of it stands."""

    place: str
    told: dict[str, Any] = field(default_factory=dict)
    marks: tuple[str, ...] = ()

    def tell(self, key: str, value: Any, place: str) -> None:
        """Add what one key says."""
        self.told[key] = value
        self.marks += marks_in({last(place): value}, place.rsplit("/", 1)[0])


def spots_of(value: dict[str, Any], place: str, around: Around) -> Iterator[Spot]:
    """One entry for each platform that has a verdict."""
    inside = _around(value, place, around)
    for name, platform in _platforms(value, place).items():
        ending = _ending(platform.told)
        if ending:
            of_script = ending["status"] == "ok" and "status" in around.fields
            fields = {**inside.fields, "backend": name, **({} if of_script else ending)}
            marks = (*inside.marks, *platform.marks)
            yield Spot(
                platform.told, platform.place, _platform, Around(fields, inside.details, marks)
            )


def names_platforms(value: Any) -> bool:
    """Whether it tells of platforms."""
    return isinstance(value, dict) and bool(_platforms(value, ""))


def _platform(entry: Entry, around: Around) -> Found:
    device = _device(entry) if around.fields["backend"] == "cuda" else None
    return verdict(entry, around, {"device_name": device})


def _platforms(value: dict[str, Any], place: str) -> dict[str, _Platform]:
    platforms: dict[str, _Platform] = {}
    for name, key, item, where in (*_named(value, place), *_examples(value, place)):
        platforms.setdefault(name, _Platform(where)).tell(key, item, where)
    metadata = value.get("metadata")
    statuses = metadata.get("platform_status") if isinstance(metadata, dict) else None
    for name, status in statuses.items() if isinstance(statuses, dict) else ():
        if name in platforms:
            where = under(place, "metadata", "platform_status", name)
            platforms[name].tell("platform_status", status, where)
    return platforms


def _named(value: dict[str, Any], place: str) -> Iterator[tuple[str, str, Any, str]]:
    """What stands under a platform's name, or under a key that begins with it."""
    for key, item in value.items():
        where, match = under(place, key), _NAME.match(key.lower())
        if key == "status" and isinstance(item, dict):
            yield from _named(item, where)
        elif match and isinstance(item, dict) and key.lower() == match[1]:
            yield from (
                (match[1], inner, below, under(where, inner)) for inner, below in item.items()
            )
        elif match and item is not None:
            yield match[1], key, item, where


def _examples(value: dict[str, Any], place: str) -> Iterator[tuple[str, str, Any, str]]:
    examples = value.get("examples")
    for index, example in enumerate(examples if isinstance(examples, list) else ()):
        name = example.get("platform") if isinstance(example, dict) else None
        if isinstance(name, str) and name.strip():
            key = f"examples.{index}"
            yield name.strip().lower(), key, example, under(place, "examples", index)


def _around(value: dict[str, Any], place: str, around: Around) -> Around:
    shared = {
        key: item
        for key, item in value.items()
        if key not in _STRUCTURE and not _NAME.match(key.lower())
    }
    metadata = value.get("metadata")
    about = Entry(metadata if isinstance(metadata, dict) else {}, under(place, "metadata"))
    fields = {
        "measured_at": about.moment("timestamp", "test_timestamp"),
        "python_version": python_of(about),
        "libraries": libraries_of(about),
    }
    own = {name: item for name, item in fields.items() if item}
    marks = (
        *around.marks,
        *marks_in(shared, place),
        *marks_in(about.value, about.place, without=("platform_status",)),
    )
    details = {**around.details, **Entry(shared, place).details(), **about.details("metadata")}
    return Around({**around.fields, **own}, details, marks)


def _ending(told: dict[str, Any]) -> dict[str, Any] | None:
    signs = [sign for key, text in _texts(told, "") if (sign := _sign(key, text))]
    bad = next((sign for sign in signs if sign["status"] != "ok"), None)
    return bad or next(iter(signs), None)


def _sign(key: str, text: str) -> dict[str, Any] | None:
    if _WELL.match(text):
        return {"status": "ok"}
    reason = f"{key}: {telling(text)}"
    if _BADLY.match(text) or key.endswith("error"):
        return {"status": cause(text), "reason": reason}
    status = cause(text, "ok") if len(text) <= _SENTENCE else "ok"
    return {"status": status, "reason": reason} if status != "ok" else None


def _texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Each text and its dotted name, without what the model was asked."""
    if isinstance(value, str) and value.strip():
        yield name, value
    for key, item in value.items() if isinstance(value, dict) else ():
        if not key.startswith(_ASKED):
            yield from _texts(item, f"{name}.{key}" if name else key)


def _device(entry: Entry) -> str | None:
    for key in ("cuda_capabilities", "capabilities"):
        told = entry.seen(key)
        if isinstance(told, dict) and isinstance(told.get("device_name"), str):
            return str(told["device_name"])
    return None
