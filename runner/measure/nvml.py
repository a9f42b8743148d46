"""NVIDIA's library of management, and the GPU in it that works."""

from importlib import import_module
from typing import Any

from runner.errors import Unavailable


def gpu_of(nvml: Any = None, uuid: str | None = None) -> tuple[Any, Any]:
    """The library, ready, and its handle of the GPU with that UUID, or of the only one.

    `nvml` is the module pynvml of nvidia-ml-py, or what stands in for it.

    Raises:
        Unavailable: the library is missing; or the UUID is unknown and several GPUs are visible.
    """
    library = nvml or load_nvml()
    library.nvmlInit()
    if uuid is not None:
        return library, library.nvmlDeviceGetHandleByUUID(uuid)
    count = library.nvmlDeviceGetCount()
    if count != 1:
        raise Unavailable(f"NVML sees {count} GPUs, so which one works is not known: show it one")
    return library, library.nvmlDeviceGetHandleByIndex(0)


def used_bytes(uuid: str | None = None, nvml: Any = None) -> int:
    """Memory of that GPU, or of the only one, which is in use by whomever.

    Raises:
        Unavailable: as `gpu_of` says.
    """
    library, device = gpu_of(nvml, uuid)
    return int(library.nvmlDeviceGetMemoryInfo(device).used)


def load_nvml() -> Any:
    """The module pynvml.

    Raises:
        Unavailable: it is missing.
    """
    try:
        return import_module("pynvml")
    except ImportError as error:
        raise Unavailable("the package nvidia-ml-py is not installed") from error
