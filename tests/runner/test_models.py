import pytest

from runner.errors import UnknownModel
from runner.models import ModelSpec, catalogue, find, model_sets


def test_the_catalogue_holds_the_promised_models() -> None:
    assert {"bert-tiny", "bert-base-uncased", "gpt2", "vit-base"} <= set(catalogue())


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
    for tensor in model.inputs:
        assert tensor.shape[0] == "batch_size"
        assert (tensor.high is not None) == (tensor.kind == "token_ids")


def test_an_unknown_name_gets_the_nearest_ones_as_a_hint() -> None:
    with pytest.raises(UnknownModel, match="'bert-tyni' is not one of") as caught:
        find("bert-tyni")
    assert "bert-tiny" in (caught.value.hint or "")
