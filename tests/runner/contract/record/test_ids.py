"""Ids that records share are hashes of what stands in the records themselves."""

from typing import Any

import pytest

from orchestrator.store.records.validate import read_record
from runner.contract.record.files import save_record
from runner.contract.record.ids import MACHINE_FACTS, environment_id, hardware_id, model_id
from tests.hostile.scene import measured_records


def test_the_ids_of_a_measured_record_can_be_computed_again(tmp_path) -> None:
    record = measured_records(tmp_path / "out")[1]
    facts: dict[str, Any] = read_record(save_record(record, tmp_path)).model_dump(mode="json")
    assert environment_id(facts) == record.environment_id
    assert hardware_id(facts) == record.hardware_id
    assert model_id(facts["model_spec"]) == record.model_id


@pytest.mark.parametrize(("bytes_less", "is_same"), [(3_000_000, True), (1 << 30, False)])
def test_a_machine_is_the_same_under_a_kernel_that_keeps_other_memory(
    bytes_less: int, is_same: bool
) -> None:
    facts: dict[str, Any] = dict.fromkeys(MACHINE_FACTS, "a") | {
        "memory_total_bytes": 33_656_000_000
    }
    other = {**facts, "memory_total_bytes": facts["memory_total_bytes"] - bytes_less}
    assert (hardware_id(facts) == hardware_id(other)) == is_same
