"""Ids that many records share: hashes of the facts that they stand for, so that none can lie."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

ENVIRONMENT_FACTS = (
    *("operating_system", "kernel", "python_version", "libraries", "image", "image_digest"),
    *("image_labels", "runner_version", "orchestrator_version", "environment_variables"),
)
"""The facts behind `environment_id`; the variables where there are any."""
_VARIABLES = "environment_variables"
MACHINE_FACTS = (
    *("device_name", "cpu_model", "cpu_cores_physical", "cpu_cores_logical"),
    *("memory_total_bytes", "machine", "device_partition"),
)
"""The facts behind `hardware_id`: memory in GiB, since kernels keep some of it for themselves, the
partition where there is one."""
HOST_FACTS = (
    *("cpu_model", "cpu_cores_physical", "cpu_cores_logical", "memory_total_bytes", "machine"),
)
"""Those behind `host`, whose devices and name are left out: one renamed is one machine."""
REQUIRED_FACTS = ("cpu_model", "cpu_cores_logical", "memory_total_bytes")
"""Those without which nobody can say which machine it was."""
_PARTITION = "device_partition"
MEMORY_FACT = "memory_total_bytes"
MEMORY_UNIT_BYTES = 1 << 30

SHARED_FACTS = (
    *("hardware_id", "environment_id", "model_id", "model_spec"),
    *(*ENVIRONMENT_FACTS, *MACHINE_FACTS),
)
"""The columns that hold ids which records share, and what they stand for."""


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def model_id(spec: str) -> str:
    return digest(spec)


def memory_in_gib(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts with the machine's memory as a whole number of GiB, where it is known."""
    bytes_ = facts.get(MEMORY_FACT)
    if not isinstance(bytes_, int):
        return dict(facts)
    return {**facts, MEMORY_FACT: (bytes_ + MEMORY_UNIT_BYTES // 2) // MEMORY_UNIT_BYTES}


def hardware_id(facts: Mapping[str, Any]) -> str:
    rounded = memory_in_gib(facts)
    names = (name for name in MACHINE_FACTS if name != _PARTITION or rounded.get(name))
    return digest("\n".join(str(rounded.get(name)) for name in names))


def host_id(facts: Mapping[str, Any]) -> str | None:
    """The id of a machine, from the columns that describe it; None if these say too little."""
    if any(facts.get(name) is None for name in REQUIRED_FACTS):
        return None
    known = memory_in_gib(facts)
    return digest("\n".join(str(known.get(name)) for name in HOST_FACTS))


def environment_id(facts: Mapping[str, Any]) -> str:
    known = {
        name: facts.get(name) for name in ENVIRONMENT_FACTS if name != _VARIABLES or facts.get(name)
    }
    return digest(json.dumps(known, sort_keys=True, ensure_ascii=False))


def false_id(facts: Mapping[str, Any]) -> str | None:
    """The first id of a record that is not the hash of its facts; None if there is none."""
    spec = facts.get("model_spec")
    hashes = {
        "hardware_id": hardware_id(facts),
        "environment_id": environment_id(facts),
        "model_id": None if spec is None else model_id(spec),
    }
    for name, value in hashes.items():
        claim = facts.get(name)
        if claim is not None and claim != value:
            return f"{name}: {claim!r} is not the hash of what it stands for, which is {value!r}"
    return None
