from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from runner.contract.cell import DEFAULT_RUNTIMES, Cell
from runner.contract.job import PROFILES, Job, Limits
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


@given(CELLS, st.integers(1, 64))
def test_shape_does_not_change_the_job(cell: Cell, batch_size: int) -> None:
    assert cell.model_copy(update={"batch_size": batch_size}).job_id == cell.job_id


@pytest.mark.parametrize("field", ["batch_size", "sequence_length"])
def test_sizes_are_positive(field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        fake_cell(**{field: 0})


def test_a_cell_is_frozen_and_strict() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        fake_cell().batch_size = 2  # type: ignore[misc]
    with pytest.raises(ValidationError, match="device"):
        fake_cell(device="cuda:0")


def test_a_job_survives_its_way_into_the_container() -> None:
    job = a_job([fake_cell(1), fake_cell(2)])
    assert Job.model_validate_json(job.model_dump_json()) == job


def test_every_backend_has_a_default_runtime() -> None:
    assert set(DEFAULT_RUNTIMES) == set(Cell.model_fields["backend"].annotation.__args__)  # type: ignore[union-attr]


def test_profiles_grow() -> None:
    durations = [PROFILES[name].min_s for name in ("quick", "standard", "audit")]
    assert durations == sorted(durations)
    assert durations[0] >= 3


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


def test_scenarios_of_a_mode_share_a_job_but_no_modes_and_no_cold_starts_do() -> None:
    cells = [fake_cell(), fake_cell(scenario="offline"), fake_cell(mode="training")]
    jobs = [f"fake-scripted-fp32-{mode}" for mode in ("inference", "inference", "training")]
    assert [cell.job_id for cell in cells] == jobs
    assert fake_cell(8, mode="startup").job_id == fake_cell(8, mode="startup").id


@pytest.mark.parametrize(
    ("profile", "seconds"), [("quick", 600), ("standard", 930), ("audit", 7620)]
)
def test_a_cell_has_time_for_what_its_profile_asks(profile: str, seconds: float) -> None:
    job = a_job(measure=PROFILES[profile])  # type: ignore[index]
    assert job.timeout_s == seconds
    limited = job.model_copy(update={"limits": Limits(cell_timeout_s=5)})
    assert limited.timeout_s == 5
