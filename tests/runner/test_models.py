import pytest

from runner.errors import UnknownModel
from runner.models import ModelSpec, catalogue, find, model_sets


def test_the_catalogue_holds_the_promised_models() -> None:
    assert {"bert-tiny", "bert-base-uncased", "gpt2", "vit-base", "t5-small"} <= set(catalogue())


def test_sets_name_models_of_the_catalogue() -> None:
    sets = model_sets()
    assert {"key", "small"} <= set(sets)
    for models in sets.values():
        assert models
        assert set(models) <= set(catalogue())


@pytest.mark.parametrize("model", catalogue().values(), ids=lambda model: model.name)
def test_a_catalogued_model_is_fully_described(model: ModelSpec) -> None:
    assert model.parameters
    assert model.hub_id
    assert model.licence
    assert "model_type" in model.config
    assert model.takes_sequence == (model.max_sequence_length is not None)
    assert model.labels is not None
    assert model.labels.name == "labels"
    for tensor in (*model.inputs, model.labels):
        assert tensor.shape[0] == "batch_size"
        assert (tensor.high is not None) == (tensor.kind == "token_ids")


def test_encoder_decoders_say_so_and_get_something_to_decode() -> None:
    marked = {name for name, model in catalogue().items() if model.encoder_decoder}
    decoding = {
        name
        for name, model in catalogue().items()
        if any(tensor.name == "decoder_input_ids" for tensor in model.inputs)
    }
    assert marked == decoding == {"t5-small"}


def test_no_vocabulary_is_exceeded() -> None:
    for model in catalogue().values():
        classes = model.config.get("vocab_size", model.config.get("num_labels"))
        tensors = [tensor for tensor in (*model.inputs, model.labels) if tensor and tensor.high]
        assert all(tensor.low < (tensor.high or 0) <= classes for tensor in tensors)


def test_an_unknown_name_gets_the_nearest_ones_as_a_hint() -> None:
    with pytest.raises(UnknownModel, match="'bert-tyni' is not one of") as caught:
        find("bert-tyni")
    assert "bert-tiny" in (caught.value.hint or "")
