"""What the catalogue promises about its entries, all of it pure data."""

import pytest

from runner.contract.errors import UnknownModel
from runner.contract.models import ModelSpec, catalogue, find
from runner.contract.models.sizes import image_token

MICRO = 1_000_000
DRAWN = {"token_ids", "prompt_ids", "prompt_labels", "boxes"}


def is_micro(model: ModelSpec) -> bool:
    return model.name.endswith("-micro")


@pytest.mark.parametrize("model", catalogue().values(), ids=lambda model: model.name)
def test_a_catalogued_model_is_fully_described(model: ModelSpec) -> None:
    assert model.parameters
    assert (model.parameters < MICRO) == is_micro(model)
    assert bool(model.hub_id) == bool(model.licence) != is_micro(model)
    assert "model_type" in model.config
    assert model.takes_sequence == (model.max_sequence_length is not None)
    assert model.trains
    assert (model.labels is None) == model.contrastive
    labels = () if model.labels is None else (model.labels,)
    assert all(tensor.name == "labels" for tensor in labels)
    for tensor in (*model.inputs, *labels):
        assert "batch_size" in tensor.sizes
        assert (tensor.high is not None) == (tensor.kind in DRAWN)
        assert bool(tensor.values) == (tensor.kind == "rows")


def vocabulary(model: ModelSpec) -> int:
    text = model.config.get("text_config", model.config)
    return int(text.get("vocab_size", model.config.get("num_labels")))


@pytest.mark.parametrize("model", catalogue().values(), ids=lambda model: model.name)
def test_no_vocabulary_is_exceeded(model: ModelSpec) -> None:
    for tensor in filter(None, (*model.inputs, model.labels)):
        if tensor.high is not None:
            assert 0 <= tensor.low < tensor.high <= vocabulary(model)
        if tensor.last is not None:
            assert tensor.last == model.config["text_config"]["eos_token_id"] >= (tensor.high or 0)


@pytest.mark.parametrize(
    "model", [m for m in catalogue().values() if m.image_prompt], ids=lambda model: model.name
)
def test_no_word_of_a_prompt_is_taken_for_an_image(model: ModelSpec) -> None:
    words = next(tensor for tensor in model.inputs if tensor.kind == "prompt_ids")
    assert (words.high or 0) <= image_token(model.config) < vocabulary(model)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownModel, match=r"no model 'bert-tyni'; did you mean bert-tiny\?"):
        find("bert-tyni")
