"""The version of an accelerator's driver, which takes part as libraries do."""

from collections.abc import Mapping
from typing import Any

from runner.cell import Backend
from runner.measure import amd_smi, nvml


def driver_version(backend: Backend, library: Any = None) -> Mapping[str, str]:
    """The driver's version by its name; empty where there is none, or none that tells.

    `library` stands in for pynvml or amdsmi.
    """
    try:
        if backend == "cuda":
            return {"nvidia-driver": _nvidia(library)}
        if backend == "rocm":
            return _amd(library)
    except Exception:  # vendors' libraries raise what they like
        return {}
    return {}


def _nvidia(library: Any) -> str:
    pynvml = library or nvml.load_nvml()
    pynvml.nvmlInit()
    return str(pynvml.nvmlSystemGetDriverVersion())


def _amd(library: Any) -> Mapping[str, str]:
    amdsmi, device = amd_smi.gpu_of(library)
    told = amdsmi.amdsmi_get_gpu_driver_info(device)
    return {str(told["driver_name"]): str(told["driver_version"])}
