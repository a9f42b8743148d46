"""Inputs of models that see and hear: what stands where, and that all of it is valid."""

import numpy as np
import numpy.typing as npt
import pytest

from runner.contract.cell import Cell
from runner.contract.models import ModelSpec, catalogue, find, shape_of, sizes_of
from runner.contract.models.sizes import image_frame, image_token
from runner.inputs import Inputs, synthesise, synthesise_labels
from tests.support.jobs import fake_cell

MICRO = [model for model in catalogue().values() if model.name.endswith("-micro")]
PROMPTED = [model for model in MICRO if model.image_prompt]


def cell_of(model: ModelSpec, batch_size: int = 2) -> Cell:
    length = 12 if model.takes_sequence else None
    return fake_cell(batch_size, model=model.name, sequence_length=length)


def is_image(model: ModelSpec, inputs: Inputs) -> npt.NDArray[np.bool_]:
    return np.asarray(inputs["input_ids"] == image_token(model.config))


@pytest.mark.parametrize("model", MICRO, ids=lambda model: model.name)
def test_every_tensor_has_the_shape_that_its_description_says(model: ModelSpec) -> None:
    cell = cell_of(model, 3)
    inputs, sizes = synthesise(model, cell, seed=0), sizes_of(model, cell)
    assert list(inputs) == [tensor.name for tensor in model.inputs]
    for tensor in model.inputs:
        assert inputs[tensor.name].shape == shape_of(model, tensor, sizes)


@pytest.mark.parametrize("model", MICRO, ids=lambda model: model.name)
def test_the_seed_decides_all_inputs_and_labels(model: ModelSpec) -> None:
    def batch(seed: int) -> Inputs:
        cell = cell_of(model)
        return {**synthesise(model, cell, seed), **synthesise_labels(model, cell, seed)}

    first, again, other = batch(1), batch(1), batch(2)
    assert first.keys() == again.keys()
    assert all((first[name] == again[name]).all() for name in first)
    assert any((first[name] != other[name]).any() for name in first)


@pytest.mark.parametrize("name", ["vit-tiny", "xclip-micro", "whisper-micro", "clap-micro"])
def test_quarters_of_pictures_and_spectra_tell_samples_apart(name: str) -> None:
    model = find(name)
    inputs = synthesise(model, cell_of(model, 8), seed=0)
    (tensor,) = (one for one in inputs.values() if one.dtype == np.float32 and one.ndim > 2)
    height, width = (size // 2 for size in tensor.shape[-2:])
    levels = tensor[..., :height, :width].mean(axis=(-2, -1))
    assert levels.std(axis=0).max() > 0.5
    assert tensor.std() == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("model", PROMPTED, ids=lambda model: model.name)
def test_a_prompt_holds_its_image_behind_a_few_words_and_losses_leave_it_out(
    model: ModelSpec,
) -> None:
    inputs = synthesise(model, cell_of(model), seed=0)
    ids, image = inputs["input_ids"], is_image(model, inputs)
    before, after = image_frame(model.config)
    start = 4 + len(before)
    stop = start + sizes_of(model, cell_of(model))["image_tokens"]
    assert image[:, start:stop].all()
    assert image.sum() == 2 * (stop - start)
    assert (ids[:, 4:start] == before).all()
    assert (ids[:, stop : stop + len(after)] == after).all()
    labels = synthesise_labels(model, cell_of(model), seed=0)["labels"]
    assert ((labels == -100) == image).all()
