"""What the catalogue promises about its entries, all of it pure data."""

import pytest

from runner.contract.errors import UnknownModel
from runner.contract.models import ModelSpec, catalogue, find, model_sets
from runner.contract.models.image_tokens import image_token

MICRO = 1_000_000
CLASSES = {
    "bert": {"bert"},
    "t5": {"t5"},
    "llama": {"opt", "gpt2", "llama"},
    "clip": {"clip"},
    "vit": {"vit"},
    "clap": {"clap"},
    "whisper": {"whisper"},
    "wav2vec2": {"wav2vec2"},
    "llava": {"llava_onevision"},
    "llava-next": {"llava_next"},
    "xclip": {"xclip"},
    "qwen": {"qwen2", "qwen3", "qwen2_vl", "qwen3_vl"},
    "detr": {"detr"},
}
DRAWN = {"token_ids", "prompt_ids", "prompt_labels", "boxes"}
WITHOUT_SPDX_ID = {"opt-125m", "llama-3.2-1b"}


def is_micro(model: ModelSpec) -> bool:
    return model.name.endswith("-micro")


def types_of(names: tuple[str, ...]) -> set[str]:
    return {find(name).config["model_type"] for name in names}


@pytest.mark.parametrize(
    "name",
    [
        *("bert-base-uncased", "bert-tiny", "t5-small", "t5-efficient-tiny", "opt-125m", "gpt2"),
        *("tinyllama-1.1b", "llama-3.2-1b", "clip-vit-base-patch32", "vit-base", "vit-tiny"),
        *("clap-htsat-unfused", "whisper-tiny", "whisper-base", "wav2vec2-base-960h"),
        *("llava-onevision-0.5b", "llava-v1.6-mistral-7b", "xclip-base-patch32", "qwen2-0.5b"),
        *("qwen3-0.6b", "qwen2-vl-2b", "qwen3-vl-2b", "detr-resnet-50"),
    ],
)
def test_the_catalogue_holds_the_promised_models(name: str) -> None:
    model = find(name)
    assert model.hub_id
    assert model.licence
    assert model.licence.startswith("LicenseRef-") == (name in WITHOUT_SPDX_ID)


def test_models_are_in_alphabetical_order() -> None:
    assert [*catalogue()] == sorted(catalogue())


def test_every_architecture_has_a_micro_model_and_a_published_one() -> None:
    micro = {m.config["model_type"] for m in catalogue().values() if is_micro(m)}
    published = {m.config["model_type"] for m in catalogue().values() if m.hub_id}
    assert micro == published == set().union(*CLASSES.values())


@pytest.mark.parametrize("name", ["key", "small", "micro"])
def test_every_set_has_all_thirteen_classes(name: str) -> None:
    members = model_sets()[name]
    assert len(set(members)) == len(members)
    assert set(members) <= set(catalogue())
    for types in CLASSES.values():
        assert types & types_of(members)


def test_key_models_are_published_small_ones_small_and_micro_ones_all_there_are() -> None:
    sets = model_sets()
    assert all(find(name).hub_id for name in sets["key"])
    assert all((find(name).parameters or 0) < 50_000_000 for name in sets["small"])
    assert set(sets["micro"]) == {m.name for m in catalogue().values() if is_micro(m)}


def test_every_family_has_a_model() -> None:
    families = {model.family for model in catalogue().values()}
    assert families == {"embedding", "text_generation", "vision", "audio", "multimodal"}


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


@pytest.mark.parametrize("model", catalogue().values(), ids=lambda model: model.name)
def test_images_and_sounds_have_either_one_size_or_a_range(model: ModelSpec) -> None:
    for name in ("image_size", "audio_seconds"):
        allowed = getattr(model, name)
        assert allowed is None or name not in model.fixed
        if allowed is not None:
            assert allowed.least <= allowed.default
            assert allowed.default % allowed.multiple_of == allowed.least % allowed.multiple_of == 0
    named = set().union(*(tensor.sizes for tensor in model.inputs))
    for name in named & {"image_size", "audio_seconds", "frames"}:
        assert name in model.fixed or getattr(model, name, None)


def test_encoder_decoders_say_so_and_get_something_to_decode() -> None:
    marked = {name for name, model in catalogue().items() if model.encoder_decoder}
    decoding = {
        name
        for name, model in catalogue().items()
        if any(tensor.name == "decoder_input_ids" for tensor in model.inputs)
    }
    assert marked == decoding
    assert {name.partition("-")[0] for name in marked} == {"t5", "whisper"}


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


def test_models_that_read_an_image_in_their_prompt_say_how() -> None:
    prompted = {m.config["model_type"]: m.image_prompt for m in catalogue().values()}
    assert {name: kind for name, kind in prompted.items() if kind} == {
        "llava_next": "anyres",
        "llava_onevision": "anyres",
        "qwen2_vl": "grid",
        "qwen3_vl": "grid",
    }


def test_wav2vec2_trains_without_chance() -> None:
    for name in ("wav2vec2-base-960h", "wav2vec2-micro"):
        config = find(name).config
        assert (config["layerdrop"], config["apply_spec_augment"]) == (0.0, False)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownModel, match=r"no model 'bert-tyni'; did you mean bert-tiny\?"):
        find("bert-tyni")
