"""A job that computes a reference leaves it, or the reason, where runners look."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.contract.artifact_keys import REFERENCES, reference_key, tells_of
from runner.contract.axes import Precision
from runner.contract.graph import graph_kind
from runner.contract.job import Job
from runner.correctness import reference
from runner.correctness.honest import PRECISIONS, take_honest
from runner.correctness.named_precision import take_weights
from runner.correctness.reference import GENERATED_TOKENS, STEPS, compute_reference, fixed_cell
from runner.measure.clock import monotonic
from tests.support.exports import tiny_vision
from tests.support.fakes import KeptProgress
from tests.support.jobs import a_job, fake_cell, fake_model
from tests.support.tiny_models import DECODER, tiny, tiny_decoder, torch_job

GENERATION = {"mode": "generation", "new_tokens": 4}


def named(job: Job, seed: int | None = None) -> Job:
    """A job that computes the reference whose name it bears, or that of another seed."""
    key = partial(reference_key, job.model, graph_kind(job.cells[0]))
    made_by = REFERENCES.versions(REFERENCES.installed())
    name = key(job.weights_seed if seed is None else seed, made_by)
    return job.model_copy(update={"purpose": "reference", "reference": name})


def arrays(job: Job, out: Path) -> dict[str, Any]:
    """The arrays that the job writes."""
    compute_reference(job, out, KeptProgress(), monotonic)
    assert [path.name for path in out.iterdir()] == [f"{job.reference}.npz"]
    with np.load(out / f"{job.reference}.npz") as file:
        return dict(file)


def reason(job: Job, out: Path) -> str:
    """The reason that the job writes instead of a reference."""
    compute_reference(job, out, KeptProgress(), monotonic)
    assert [path.name for path in out.iterdir()] == [f"{job.reference}.failed"]
    return (out / f"{job.reference}.failed").read_text()


def test_whoever_generates_gets_tokens_and_others_outputs_alone(tmp_path: Path) -> None:
    (tmp_path / "forward").mkdir()
    result = arrays(named(a_job()), tmp_path / "forward")
    assert {name: array.shape for name, array in result.items()} == {
        "x": (2, 32),
        "second.x": (2, 32),
    }
    (tmp_path / "generation").mkdir()
    job = named(a_job([fake_cell(**GENERATION)]))
    result = arrays(job, tmp_path / "generation")
    assert sorted(result) == [GENERATED_TOKENS, "second.x", "x"]
    assert result[GENERATED_TOKENS].shape == (2, fixed_cell(job).new_tokens)


@pytest.mark.slow
def test_a_model_of_ours_generates_them(tmp_path: Path) -> None:
    job = named(torch_job(tiny_decoder(), **GENERATION))
    asked: tuple[Precision, ...] = ("bf16", "int8")
    result = arrays(job.model_copy(update={"honest": asked}), tmp_path)
    for precision in PRECISIONS:
        honest, failure = take_honest(dict(result), precision)
        assert (set(honest), failure) == ({"logits", STEPS} if precision in asked else set(), None)
        assert tells_of(result, precision) is (precision in asked)
    take_honest(result, "bf16")
    assert "transformer.ln_f.weight" in take_weights(result)
    assert set(result) == {"logits", "second.logits", STEPS, GENERATED_TOKENS}
    assert result[STEPS].shape[:2] == result[GENERATED_TOKENS].shape


NAN = tiny("AutoModelForCausalLM", {**DECODER, "layer_norm_epsilon": float("nan")})


@pytest.mark.parametrize(
    ("job", "seed", "expected"),
    [
        (torch_job(tiny_vision(), sequence_length=None, **GENERATION), None, "generat"),
        (a_job(model=fake_model({"*": "raise"})), None, "raised"),
        (torch_job(NAN), None, "outputs_not_finite"),
        (a_job(), 1, "environment_produces"),
    ],
    ids=["no tokens", "an error", "no numbers", "another name"],
)
def test_what_prevents_a_reference_is_its_reason(
    job: Job, seed: int | None, expected: str, tmp_path: Path
) -> None:
    assert expected in reason(named(job, seed), tmp_path)


def test_the_rounding_of_a_large_model_is_not_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reference, "MOST_PARAMETERS", -1)
    result = arrays(named(a_job()).model_copy(update={"honest": ("int8",)}), tmp_path)
    failure = take_honest(result, "int8")[1]
    assert failure is not None
    assert failure.code == "too_many_parameters"
