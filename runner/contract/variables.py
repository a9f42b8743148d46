"""Environment variables: those that decide how runtimes execute, and the names of variables."""

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

_NAME = r"^[A-Za-z_][A-Za-z0-9_]{0,99}$"
VariableName = Annotated[str, Field(pattern=_NAME)]
"""The name of an environment variable."""

_PREFIXES = (
    *("OMP_", "KMP_", "GOMP_", "MKL_", "ONEDNN_", "DNNL_", "OPENBLAS_", "BLIS_", "ACL_"),
    *("TORCH", "PYTORCH_", "ATEN_", "TRITON_", "CUDA_", "CUDNN_", "CUBLAS_", "CUBLASLT_"),
    *("NCCL_", "NVIDIA_TF32_OVERRIDE"),
    *("HSA_", "HIP_", "ROCR_", "ROCBLAS_", "HIPBLASLT_", "MIOPEN_", "AMD_"),
    *("OV_", "OPENVINO_", "ORT_", "QNN_", "TBB_", "SYCL_", "ONEAPI_", "ZE_", "NEO_"),
    *("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_BIND_NOW", "DYLD_", "MALLOC_", "GLIBC_TUNABLES"),
    *("JE_MALLOC", "TCMALLOC_", "MIMALLOC_", "NPY_", "VECLIB_", "PYTHON"),
)
"""Beginnings of the names by which runtimes, their libraries, the loader, the allocator and Python
are told how to work."""
DEVICE_CHOICES = frozenset(
    {
        *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "HIP_VISIBLE_DEVICES"),
        *("ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR"),
    }
)
"""Variables that select one of several devices, as a scheduler sets them. The columns of the device
say which one it was."""
_OWN = frozenset({"PYTHONPATH", "PYTHONHASHSEED"})
"""Variables that the launcher sets, or that decide no speed."""
_LETTERS = 1000


def is_variable_name(text: str) -> bool:
    """True if an environment variable can have this name."""
    return re.fullmatch(_NAME, text) is not None


def decides_execution(name: str) -> bool:
    """True if a runtime may read the variable of this name."""
    return name.startswith(_PREFIXES) and name not in DEVICE_CHOICES | _OWN


def runtime_variables(environment: Mapping[str, str]) -> dict[str, str] | None:
    """The variables that decide how a runtime executes, by name; None without one.

    The user's own folder is written as `~`, so that a record does not name it. What cannot be
    printed becomes a question mark.
    """
    home = environment.get("HOME", "").rstrip("/")
    variables = {
        _printable(name): _printable(value.replace(home, "~") if home else value)
        for name, value in sorted(environment.items())
        if decides_execution(name)
    }
    return variables or None


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text[:_LETTERS])
