from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.cell import Cell
from runner.contract.job import PROFILES, Limits
from runner.contract.models import catalogue
from tests.support.jobs import a_job, fake_cell

CELLS = st.builds(
    Cell,
    model=st.sampled_from(sorted(catalogue())),
    backend=st.sampled_from(["cpu", "cuda", "openvino"]),
    runtime=st.sampled_from(["torch", "onnxruntime", "openvino"]),
    precision=st.sampled_from(["fp32", "bf16"]),
    batch_size=st.integers(1, 64),
    sequence_length=st.none() | st.integers(1, 512),
    mode=st.sampled_from(["inference", "training"]),
)


def test_an_id_names_the_runtime_unless_it_is_the_backends_default() -> None:
    fields = {"model": "gpt2", "backend": "cuda", "precision": "fp16", "sequence_length": 128}
    cell = fake_cell(8, runtime="torch", **fields)
    assert cell.id == "cuda-gpt2-fp16-b8-s128-inference"
    assert cell.job_id == "cuda-gpt2-fp16-inference"
    cell = fake_cell(backend="cpu", runtime="onnxruntime", sequence_length=None)
    assert cell.id == "cpu-onnxruntime-scripted-fp32-b1-inference"


@given(CELLS, CELLS)
def test_ids_are_equal_exactly_when_cells_are(one: Cell, other: Cell) -> None:
    assert (one.id == other.id) == (one == other)


@pytest.mark.parametrize(("changes", "name"), [
    ({}, "fake-scripted-fp32-b8-s8-inference"),
    ({"mode": "generation", "new_tokens": 32}, "fake-scripted-fp32-b8-s8-n32-generation"),
    ({"scenario": "offline"}, "fake-scripted-fp32-s8-inference-offline"),
    ({"scenario": "server", "target_qps": 50.0}, "fake-scripted-fp32-b8-s8-inference-server-q50"),
    ({"scenario": "server", "slo_ms": 2.5},
     "fake-scripted-fp32-b8-s8-inference-server-peak-slo2.5"),
    ({"scenario": "offline", "sequence_length": None}, "fake-scripted-fp32-inference-offline"),
])  # fmt: skip
def test_ids_tell_sizes_mode_and_pattern(changes: dict[str, Any], name: str) -> None:
    assert fake_cell(8, **changes).id == name


@pytest.mark.parametrize(
    ("profile", "seconds"), [("quick", 600), ("standard", 930), ("audit", 7620)]
)
def test_a_cell_has_time_for_what_its_profile_asks(profile: str, seconds: float) -> None:
    job = a_job(measure=PROFILES[profile])  # type: ignore[index]
    assert job.timeout_s == seconds
    limited = job.model_copy(update={"limits": Limits(cell_timeout_s=5)})
    assert limited.timeout_s == 5
