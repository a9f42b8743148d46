"""AMD's library of management, and the GPU in it that works."""

from importlib import import_module
from typing import Any

from runner.errors import Unavailable


def gpu_of(amdsmi: Any = None) -> tuple[Any, Any]:
    """The library, ready, and its handle of the only GPU that is visible.

    `amdsmi` is AMD's module of that name, or what stands in for it.

    Raises:
        Unavailable: the library is missing, or the visible GPUs are not exactly one.
    """
    library = amdsmi or _load()
    library.amdsmi_init()
    devices = library.amdsmi_get_processor_handles()
    if len(devices) != 1:
        raise Unavailable(
            f"AMD SMI sees {len(devices)} GPUs, so which one works is not known: show it one"
        )
    return library, devices[0]


def _load() -> Any:
    try:
        return import_module("amdsmi")
    except Exception as error:  # it raises OSError, KeyError, AttributeError where ROCm is absent
        raise Unavailable(f"the package amdsmi cannot be used: {error}") from error
