"""Every architecture of the catalogue on torch, with synthesised inputs.

All are tried in their micro size, and the smallest real model that is small enough for a test.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
import pytest
import torch

from runner.backends.torch.backend import TorchSession, open_session
from runner.backends.torch.model import fill_parameters, instantiate
from runner.backends.torch.training import TorchTrainer
from runner.contract.axes import Precision
from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.models import ModelSpec, catalogue, find, model_sets
from runner.correctness.compare_outputs import compare_outputs
from runner.correctness.reference import compute_outputs, fixed_cell
from runner.inputs import synthesise, synthesise_labels
from tests.support.fakes import FakeClock
from tests.support.siblings import siblings
from tests.support.tiny_models import torch_job
from tests.support.words import raises_words

MICRO = [find(name) for name in model_sets()["micro"]]
GENERATING = {
    *("t5-micro", "opt-micro", "gpt2-micro", "llama-micro", "whisper-micro", "qwen2-micro"),
    *("qwen3-micro", "llava-onevision-micro", "llava-next-micro", "qwen2-vl-micro"),
    "qwen3-vl-micro",
}
LARGEST = 130_000_000
KEPT = ("bert", "gpt2", "vit")
every_micro = pytest.mark.parametrize("model", MICRO, ids=lambda model: model.name)


@contextmanager
def session_of(
    model: ModelSpec, mode: str = "inference", batch_size: int = 2
) -> Iterator[tuple[TorchSession, Cell]]:
    length = 12 if model.takes_sequence else None
    new = 3 if mode == "generation" else None
    job = torch_job(model, batch_size=batch_size, sequence_length=length, mode=mode, new_tokens=new)
    with closing(open_session(job, threads=1)) as session:
        yield session, job.cells[0]


@contextmanager
def training(model: ModelSpec, batch_size: int = 2) -> Iterator[TorchTrainer]:
    with session_of(model, "training", batch_size) as (session, cell):
        batch = {**synthesise(model, cell, 0), **synthesise_labels(model, cell, 0)}
        with closing(session.bind_training(cell, batch, FakeClock())) as trainer:
            yield trainer


def are_finite_and_tell_inputs_apart(session: TorchSession, model: ModelSpec, cell: Cell) -> bool:
    once, other = (
        session.arrays(session.bind(cell, synthesise(model, cell, seed))()) for seed in (0, 1)
    )
    finite = bool(once) and all(np.isfinite(array).all() for array in once.values())
    return finite and any((once[name] != other[name]).any() for name in once)


@pytest.mark.representatives(6)
@every_micro
def test_outputs_are_finite_and_tell_inputs_apart(model: ModelSpec) -> None:
    with session_of(model) as (session, cell):
        assert are_finite_and_tell_inputs_apart(session, model, cell)


def smallest_of_each_architecture() -> list[Any]:
    """The models to try in a real size; some architectures have none that is small enough."""
    tried = [spec for name, spec in catalogue().items() if name not in model_sets()["micro"]]
    largest_first = sorted(tried, key=lambda spec: spec.parameters or 0, reverse=True)
    small = [spec for spec in largest_first if (spec.parameters or 0) < LARGEST]
    chosen = {spec.config["model_type"]: spec for spec in small}
    return siblings(chosen.values(), [chosen[kind] for kind in KEPT], lambda spec: str(spec.name))


@pytest.mark.slow
@pytest.mark.parametrize("model", smallest_of_each_architecture())
def test_random_weights_keep_outputs_finite_at_real_size(model: ModelSpec) -> None:
    job = torch_job(model)
    with closing(open_session(job, threads=2)) as session:
        assert are_finite_and_tell_inputs_apart(session, job.model, fixed_cell(job))


@pytest.mark.representatives(6)
@pytest.mark.parametrize("precision", ["bf16", pytest.param("fp16", marks=pytest.mark.slow)])
@every_micro
def test_other_precisions_agree_with_fp32(model: ModelSpec, precision: Precision) -> None:
    """Random weights must let a signal through, or nothing but rounding would be compared."""
    result = {}
    for item in ("fp32", precision):
        job = torch_job(model, precision=item)
        with closing(open_session(job, threads=1)) as session:
            result[item] = compute_outputs(session, job)
    verdict = compare_outputs(result[precision], result["fp32"], None, precision)
    assert verdict["correct"], verdict


@every_micro
def test_nothing_is_left_of_what_lay_in_memory(model: ModelSpec) -> None:
    """Torch can fill new memory with NaN, so that what nobody has set shows."""
    torch.use_deterministic_algorithms(mode=True, warn_only=True)
    try:
        network = instantiate(model, torch.float32)
        fill_parameters(network, seed=0)
    finally:
        torch.use_deterministic_algorithms(mode=False)
    named = (*network.named_parameters(), *network.named_buffers())
    unset = [name for name, tensor in named if not torch.isfinite(tensor).all()]
    assert unset == []


@pytest.mark.representatives(6)
@every_micro
def test_training_gives_a_finite_loss_and_learns(model: ModelSpec) -> None:
    with training(model) as trainer:
        losses = [trainer.step().loss for _ in range(2)]
        assert all(np.isfinite(loss) for loss in losses)
        assert not trainer.unchanged()
        assert not trainer.untaught()


@every_micro
def test_generation_works_for_the_models_that_generate(model: ModelSpec) -> None:
    with session_of(model, "generation") as (session, cell):
        inputs = synthesise(model, cell, 0)
        if model.name in GENERATING:
            generated = session.bind_generation(cell, inputs, FakeClock())()
            assert generated.tokens.shape == (2, 3)
        else:
            with raises_words(Unsupported, match="cannot generate"):
                session.bind_generation(cell, inputs, FakeClock())
