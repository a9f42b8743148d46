"""What a model reads is counted in tokens; its parameters are published or guessed."""

from typing import Any

import pytest

from orchestrator.model_size import known_parameters, parameters_of, text_config, tokens_of
from runner.models import ModelSpec, find
from tests.jobs import fake_cell
from tests.orchestrator.matrices import sized_model


def tokens(model: ModelSpec, **fields: Any) -> float:
    return tokens_of(fake_cell(model=model.name, **{"sequence_length": None} | fields), model)


def test_text_is_counted_in_tokens() -> None:
    assert tokens(find("gpt2"), sequence_length=64) == 64


def test_an_image_is_counted_in_patches() -> None:
    assert tokens(find("vit-base")) == 14 * 14
    varying = sized_model(config={"patch_size": 14})
    assert tokens(varying, image_size=448) == 32 * 32
    both = tokens(varying, image_size=448, sequence_length=10)
    assert both == 32 * 32 + 10


def test_patches_of_a_part_of_the_model_count_too() -> None:
    clip = sized_model(config={"vision_config": {"image_size": 224, "patch_size": 32}})
    assert tokens(clip, sequence_length=77) == 77 + 7 * 7


def test_a_convolutional_network_has_a_place_for_32_pixels() -> None:
    assert tokens(sized_model(config={}), image_size=640) == 20 * 20


def test_sound_is_counted_in_frames_of_20_ms() -> None:
    assert tokens(sized_model(config={}), audio_seconds=5) == 250


def test_an_image_in_a_prompt_is_what_it_becomes_there() -> None:
    qwen = find("qwen2-vl-2b")
    framed = tokens(qwen, sequence_length=128, image_size=448)
    assert framed == 128 + 2 + 16 * 16


def test_nothing_at_all_is_one_token() -> None:
    assert tokens(sized_model(config={})) == 1


@pytest.mark.parametrize("name", ["bert-base-uncased", "gpt2", "vit-base"])
def test_parameters_that_nobody_published_are_guessed_within_a_tenth(name: str) -> None:
    spec = find(name)
    guessed = known_parameters(spec.model_copy(update={"parameters": None}))
    assert guessed == pytest.approx(spec.parameters, rel=0.1)


def test_a_config_that_tells_nothing_is_known_to_be_unknown() -> None:
    nothing = find("gpt2").model_copy(update={"parameters": None, "config": {}})
    assert known_parameters(nothing) == 0
    assert parameters_of(nothing) == 100_000_000


def test_what_reads_text_is_configured_apart_where_there_is_more() -> None:
    assert text_config(find("qwen2-vl-2b"))["num_hidden_layers"] == 28
    assert text_config(find("gpt2")) == find("gpt2").config
