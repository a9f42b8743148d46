import numpy as np
import pytest

from runner.errors import Unsupported
from runner.inputs import synthesise
from runner.models import TensorSpec, find
from tests.jobs import fake_cell, fake_model


def test_text_inputs_take_the_cells_shape_and_the_vocabulary() -> None:
    inputs = synthesise(find("gpt2"), fake_cell(3, sequence_length=17), seed=0)
    assert inputs["input_ids"].shape == (3, 17)
    assert inputs["input_ids"].dtype == np.int64
    assert 0 <= inputs["input_ids"].min() <= inputs["input_ids"].max() < 50257
    assert (inputs["attention_mask"] == 1).all()


def test_image_inputs_need_no_sequence() -> None:
    inputs = synthesise(find("vit-base"), fake_cell(2, sequence_length=None), seed=0)
    assert inputs["pixel_values"].shape == (2, 3, 224, 224)
    assert inputs["pixel_values"].dtype == np.float32


def test_the_seed_decides() -> None:
    model, cell = find("bert-tiny"), fake_cell(2)
    first, again, other = (synthesise(model, cell, seed)["input_ids"] for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_a_missing_axis_is_named() -> None:
    with pytest.raises(Unsupported, match="input_ids of model scripted needs a sequence_length"):
        synthesise(find("bert-tiny"), fake_cell(sequence_length=None), seed=0)


def test_token_ids_need_an_upper_bound() -> None:
    tensor = TensorSpec(name="ids", kind="token_ids", shape=("batch_size",))
    with pytest.raises(Unsupported, match="no `high`"):
        synthesise(fake_model().model_copy(update={"inputs": (tensor,)}), fake_cell(), seed=0)
