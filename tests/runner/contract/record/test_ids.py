"""Ids that records share are hashes of what stands in the records themselves."""

from typing import Any

import pytest

from orchestrator.store import read_record
from runner.contract.record import (
    ENVIRONMENT_FACTS,
    MACHINE_FACTS,
    environment_id,
    hardware_id,
    model_id,
    save_record,
)
from tests.hostile.scene import measured_records


def test_the_ids_of_a_measured_record_can_be_computed_again(tmp_path) -> None:
    record = measured_records(tmp_path / "out")[1]
    facts: dict[str, Any] = read_record(save_record(record, tmp_path)).model_dump(mode="json")
    assert environment_id(facts) == record.environment_id
    assert hardware_id(facts) == record.hardware_id
    assert model_id(facts["model_spec"]) == record.model_id


@pytest.mark.parametrize("name", [*ENVIRONMENT_FACTS, *MACHINE_FACTS])
def test_each_fact_decides_the_id(name: str) -> None:
    facts: dict[str, Any] = dict.fromkeys((*ENVIRONMENT_FACTS, *MACHINE_FACTS), "a")
    make = environment_id if name in ENVIRONMENT_FACTS else hardware_id
    assert make(facts) != make({**facts, name: "b"})


@pytest.mark.parametrize(("bytes_less", "is_same"), [(3_000_000, True), (1 << 30, False)])
def test_a_machine_is_the_same_under_a_kernel_that_keeps_other_memory(
    bytes_less: int, is_same: bool
) -> None:
    facts: dict[str, Any] = dict.fromkeys(MACHINE_FACTS, "a") | {
        "memory_total_bytes": 33_656_000_000
    }
    other = {**facts, "memory_total_bytes": facts["memory_total_bytes"] - bytes_less}
    assert (hardware_id(facts) == hardware_id(other)) == is_same


def test_variables_decide_the_id_where_there_are_any() -> None:
    facts: dict[str, Any] = dict.fromkeys(ENVIRONMENT_FACTS, "a") | {"environment_variables": None}
    without = {name: facts[name] for name in facts if name != "environment_variables"}
    slow = {**facts, "environment_variables": {"ONEDNN_MAX_CPU_ISA": "AVX2"}}
    assert environment_id(facts) == environment_id(without) != environment_id(slow)
