"""The machine that results come from: its processor, and an id that outlives its name.

Devices and names of hosts are left out of the id: one machine renamed is one machine, two machines
of one name are two.
"""

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runner.contract.record.ids import digest

MEMORY_UNIT_BYTES = 1 << 30
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
    memory_gib = (facts["memory_total_bytes"] + MEMORY_UNIT_BYTES // 2) // MEMORY_UNIT_BYTES
    known = {**facts, "memory_total_bytes": memory_gib}
    return digest("\n".join(str(known.get(name)) for name in HOST_FACTS))


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
