"""`models`: what the catalogue holds, and what is known of one model."""

import json

import pytest

from runner.contract.models import catalogue, model_sets
from tests.support.command_line import complains
from tests.support.workplace import Workplace


def names(place: Workplace, *options: str) -> list[str]:
    done = place.do("models", "list", "--json", *options)
    assert (done.returncode, done.stderr) == (0, "")
    return [model["name"] for model in json.loads(done.stdout)]


@pytest.mark.slow
def test_the_whole_catalogue_a_family_or_a_set_is_listed(place: Workplace) -> None:
    assert names(place) == list(catalogue())
    audio = [name for name, model in catalogue().items() if model.family == "audio"]
    assert names(place, "--family", "audio") == audio
    assert names(place, "--set", "key") == list(model_sets()["key"])
    both = names(place, "--set", "micro", "--family", "audio")
    assert both == [name for name in model_sets()["micro"] if name in audio]


def test_the_table_has_a_line_for_each_model(place: Workplace) -> None:
    lines = place.do("models", "list").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(catalogue())


def test_one_model_is_shown_at_the_sizes_asked_for(place: Workplace) -> None:
    options = ("--batch-size", "2", "--image-size", "96", "--json")
    shown = json.loads(place.do("models", "show", "detr-resnet-50", *options).stdout)
    assert shown["parameters"] == 41_524_768
    assert shown["shapes"]["pixel_values"] == [2, 3, 96, 96]
    table = place.do("models", "show", "wav2vec2-micro", "--audio-seconds", "3").stdout
    assert "1 × 48000" in table
    table = place.do(
        "models", "show", "gpt2", "--sequence-length", "7", "--mode", "training"
    ).stdout
    assert "1 × 7" in table
    assert "training in" in table


def test_what_is_not_in_the_catalogue_is_refused(place: Workplace) -> None:
    complains(place.do("models", "show", "gpt3"), 2, "'gpt3' is not one of")
    complains(place.do("models", "list", "--family", "speech"), 2, "'speech' is not one of")
    complains(place.do("models", "list", "--set", "large"), 2, "--set: 'large' is not one of key")


def test_what_a_model_does_not_take_is_refused(place: Workplace) -> None:
    wrong = place.do("models", "show", "detr-micro", "--image-size", "65")
    complains(wrong, 2, "detr-micro takes image_size of multiples of 32, not 65")
    wrong = place.do("models", "show", "gpt2", "--sequence-length", "5000")
    complains(wrong, 2, "gpt2 takes at most 1024 tokens, not 5000")
    complains(place.do("models", "show", "gpt2", "--batch-size", "0"), 2, "--batch-size: 0 is less")
