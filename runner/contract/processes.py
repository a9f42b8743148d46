"""Processes: the variables that decide how runtimes execute, and how a process ended."""

import hashlib
import os
import re
import signal
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

is_program = False
"""True in a program of ours; others import our packages as a library."""
VARIABLE_NAME = r"^[A-Za-z_][A-Za-z0-9_]{0,99}$"

_PREFIXES = (
    *("OMP_", "KMP_", "GOMP_", "MKL_", "MKLDNN_", "ONEDNN_", "DNNL_", "OPENBLAS_", "GOTO_"),
    *("BLIS_", "ACL_", "FBGEMM_"),
    *("TORCH", "PYTORCH_", "ATEN_", "TRITON_", "CUDA_", "CUDNN_", "CUBLAS_", "CUBLASLT_"),
    *("DISABLE_ADDMM_CUDA_LT", "NCCL_", "NVIDIA_TF32_OVERRIDE"),
    *("HSA_", "HSAKMT_", "HIP_", "ROC_", "ROCR_", "ROCBLAS_", "HIPBLASLT_", "TENSILE_"),
    *("MIOPEN_", "AMD_", "GPU_"),
    *("OV_", "OPENVINO_", "ORT_", "QNN_", "ADSP_", "TBB_", "HWLOC_", "SYCL_", "ONEAPI_", "ZE_"),
    *("NEO_", "IGC_", "OCL_", "METAL_", "MTL_"),
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
OWN_PYTHON: Mapping[str, str] = {
    "PYTHONPATH": str(Path(__file__).parents[2]),
    "PYTHONSAFEPATH": "1",
}
"""The variables of every Python that we start. Python and its children then import our packages
and installed ones, never the files of the current folder, which may belong to a stranger's model.
"""
_OWN = frozenset({*OWN_PYTHON, "PYTHONHASHSEED"})
"""Variables that the launcher sets, or that decide no speed."""
_LETTERS = 1000
_HASH = "sha256:"
_HASH_LETTERS = 8
"""Enough to tell two values from each other, too few to make out a long random one."""


def is_variable_name(text: str) -> bool:
    return re.fullmatch(VARIABLE_NAME, text) is not None


def python_environment(ours: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Our environment for a Python that we start, with no `PYTHON*` variable but `OWN_PYTHON`."""
    kept = {name: value for name, value in ours.items() if not name.startswith("PYTHON")}
    return {**kept, **OWN_PYTHON}


def runtime_variables(
    environment: Mapping[str, str], inherited: Collection[str] = ()
) -> dict[str, str] | None:
    """The variables that decide how a runtime executes, by name; None without one.

    The user's own folder is written as `~`. What cannot be printed becomes a question mark. Those
    that the user named as `inherited` are among them, but for the choice of a device. A value that
    no runtime is known to read may be a secret: its hash stands for it.
    """
    home = environment.get("HOME", "").rstrip("/")
    variables = {
        _printable(name): _recorded(name, value, home)
        for name, value in sorted(environment.items())
        if name not in DEVICE_CHOICES
        and (name in inherited or (name.startswith(_PREFIXES) and name not in _OWN))
    }
    return variables or None


def _recorded(name: str, value: str, home: str) -> str:
    if name.startswith(_PREFIXES):
        return _printable(value.replace(home, "~") if home else value)
    return _HASH + hashlib.sha256(os.fsencode(value)).hexdigest()[:_HASH_LETTERS]


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text[:_LETTERS])


TAIL_BYTES = 8192
VMSTAT = Path("/proc/vmstat")


def end_facts(code: int) -> dict[str, str]:
    """The signal of an exit status that is negative, or over 128 in containers; else the status."""
    number = -code if code < 0 else code - 128
    with suppress(ValueError):
        return {"signal": signal.Signals(number).name}
    return {"exit_status": str(code)}


def tail_of(stream: IO[bytes]) -> str:
    """The end of what was written to a file; empty if it is closed."""
    if stream.closed:
        return ""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - TAIL_BYTES))
    return stream.read().decode("utf-8", "replace")


def last_line(text: str) -> str:
    """The last line of a text, usually what it is about; empty if there is none."""
    return next(iter(text.strip().splitlines()[-1:]), "")


def oom_kills(vmstat: Path = VMSTAT) -> int:
    """Times that the kernel has killed for memory since boot; 0 where it does not tell."""
    if not vmstat.exists():
        return 0
    counts = dict(line.split() for line in vmstat.read_text().splitlines())
    return int(counts.get("oom_kill", 0))
