"""The machine that results come from: its processor, and an id that outlives its name.

Devices and names of hosts are left out of the id: one machine renamed is one machine, two machines
of one name are two.
"""

import platform
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from runner.contract.record.ids import digest, memory_in_gib

HOST_FACTS = (
    "cpu_model",
    "cpu_cores_physical",
    "cpu_cores_logical",
    "memory_total_bytes",
    "machine",
)
"""The columns behind `host`; memory counts in GiB, since kernels keep some of it for themselves."""
REQUIRED_FACTS = ("cpu_model", "cpu_cores_logical", "memory_total_bytes")
"""Those without which nobody can say which machine it was."""


def host_id(facts: Mapping[str, Any]) -> str | None:
    """The id of a machine, from the columns that describe it; None if these say too little."""
    if any(facts.get(name) is None for name in REQUIRED_FACTS):
        return None
    known = memory_in_gib(facts)
    return digest("\n".join(str(known.get(name)) for name in HOST_FACTS))


_X86 = ("x86_64", "AMD64")
_WIDE_SUMS = frozenset({"avx512_vnni", "avx_vnni", "amx_int8"})
"""Flags of x86 processors that add products of bytes in 32 bits."""


def multiplies_signed_bytes(flags: Collection[str], machine: str = platform.machine()) -> bool:
    """True if ONNX Runtime multiplies uint8 by int8 exactly on such a processor.

    On x86 without VNNI it adds pairs of products in 16 bits, which saturate: 255 × 127 twice is
    32,767 there. With uint8 on both sides it takes another instruction, which is exact (ONNX
    Runtime's documentation, "Quantize ONNX models", on U8S8 and U8U8).
    """
    return machine not in _X86 or not _WIDE_SUMS.isdisjoint(flags)


def read_processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> tuple[str, list[str]]:
    """The processor's name and its feature flags."""
    facts: dict[str, str] = {}
    if cpuinfo.exists():
        for line in cpuinfo.read_text().partition("\n\n")[0].splitlines():
            key, _, value = line.partition(":")
            facts[key.strip()] = value.strip()
    model = facts.get("model name") or platform.processor() or platform.machine()
    flags = facts.get("flags") or facts.get("Features") or ""
    return model, flags.split()


@cache
def cpu_model() -> str:
    """The processor's name; read once, as the file grows with the number of CPUs."""
    return read_processor()[0]
