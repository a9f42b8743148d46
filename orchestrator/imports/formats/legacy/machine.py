"""What a file says of the machine; what it says unclearly stays in the details."""

from typing import Any

from orchestrator.imports.formats.legacy.entry import Around, Entry
from orchestrator.imports.quantities import Number
from orchestrator.imports.reading import NotReadable

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


def _positive(entry: Entry, key: str, column: str, unit: str | None = None) -> Number | None:
    value = entry.seen(key)
    if not isinstance(value, int | float) or not value > 0:
        return None
    try:
        number = entry.number(key, column, unit)
    except NotReadable:
        return None
    return number if isinstance(number, int) else None
