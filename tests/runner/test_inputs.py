"""Inputs and labels of all kinds of models: what stands where, and that all of it is valid."""

import numpy as np
import pytest

from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.models import ModelSpec, catalogue, find, shape_of, sizes_of
from runner.contract.models.sizes import image_frame, image_token
from runner.inputs import Inputs, calibration_queries, synthesise, synthesise_labels
from tests.support.jobs import fake_cell
from tests.support.words import raises_words

MICRO = [model for model in catalogue().values() if model.name.endswith("-micro")]
PROMPTED = [model for model in MICRO if model.image_prompt]


def cell_of(model: ModelSpec, batch_size: int = 2) -> Cell:
    length = 12 if model.takes_sequence else None
    return fake_cell(batch_size, model=model.name, sequence_length=length)


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


def test_inputs_take_the_cells_shape_and_the_vocabulary() -> None:
    inputs = synthesise(find("gpt2"), fake_cell(3, sequence_length=17), seed=0)
    assert inputs["input_ids"].shape == (3, 17)
    assert inputs["input_ids"].dtype == np.int64
    assert 0 <= inputs["input_ids"].min() <= inputs["input_ids"].max() < 50257
    assert (inputs["attention_mask"] == 1).all()
    image = synthesise(find("vit-base"), fake_cell(2, sequence_length=None), seed=0)
    assert image["pixel_values"].shape == (2, 3, 224, 224)
    assert image["pixel_values"].dtype == np.float32


@pytest.mark.parametrize("name", ["vit-tiny", "xclip-micro", "whisper-micro", "clap-micro"])
def test_quarters_of_pictures_and_spectra_tell_samples_apart(name: str) -> None:
    model = find(name)
    inputs = synthesise(model, cell_of(model, 8), seed=0)
    (tensor,) = (array for array in inputs.values() if array.dtype == np.float32 and array.ndim > 2)
    height, width = (size // 2 for size in tensor.shape[-2:])
    assert tensor[..., :height, :width].mean(axis=(-2, -1)).std(axis=0).max() > 0.5
    assert tensor.std() == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("model", PROMPTED, ids=lambda model: model.name)
def test_a_prompt_holds_its_image_behind_a_few_words_and_losses_leave_it_out(
    model: ModelSpec,
) -> None:
    ids = synthesise(model, cell_of(model), seed=0)["input_ids"]
    image = ids == image_token(model.config)
    before, after = image_frame(model.config)
    start = 4 + len(before)
    stop = start + sizes_of(model, cell_of(model))["image_tokens"]
    assert image[:, start:stop].all()
    assert image.sum() == 2 * (stop - start)
    assert (ids[:, 4:start] == before).all()
    assert (ids[:, stop : stop + len(after)] == after).all()
    labels = synthesise_labels(model, cell_of(model), seed=0)["labels"]
    assert ((labels == -100) == image).all()


@pytest.mark.parametrize(
    ("model", "shape", "high"),
    [
        ("bert-tiny", (3, 8), 30522),
        ("gpt2", (3, 8), 50256),
        ("vit-base", (3,), 1000),
        ("t5-small", (3, 8), 32100),
    ],
)
def test_labels_have_the_shape_of_what_the_model_gives(
    model: str, shape: tuple[int, ...], high: int
) -> None:
    labels = synthesise_labels(find(model), fake_cell(3), seed=0)["labels"]
    assert labels.shape == shape
    assert labels.dtype == np.int64
    assert 0 <= labels.min() <= labels.max() < high


@pytest.mark.parametrize("name", ["clip-micro", "clap-micro", "xclip-micro"])
def test_a_contrastive_batch_has_no_labels_but_something_to_compare(name: str) -> None:
    assert synthesise_labels(find(name), fake_cell(2), seed=0) == {}
    with raises_words(Unsupported, match="a batch of 1 has nothing to compare"):
        synthesise_labels(find(name), fake_cell(1), seed=0)


def test_every_second_query_for_calibration_is_padded_where_there_is_a_mask() -> None:
    cell = fake_cell(2, sequence_length=16)
    queries = calibration_queries(find("bert-micro"), cell, range(4))
    kept = [query["attention_mask"].sum(axis=1).tolist() for query in queries]
    assert kept == [[16, 16], [12, 4]] * 2
    assert len({query["input_ids"].tobytes() for query in queries}) == 4
    pictures = calibration_queries(find("vit-micro"), fake_cell(2, sequence_length=None), range(2))
    assert [query.keys() for query in pictures] == [{"pixel_values"}] * 2
