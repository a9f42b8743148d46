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
    heard = names(place, "--modality", "audio")
    assert heard == [name for name, model in catalogue().items() if "audio" in model.contents]
    assert {"clap-htsat-unfused", "clap-micro"} <= {*heard} - {*audio}


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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "gpt3"], "no model 'gpt3'; did you mean gpt2?"),
        (["list", "--family", "speech"], "'speech' is not one of"),
        (
            ["show", "detr-micro", "--image-size", "65"],
            "detr-micro takes image_size of multiples of 32, not 65",
        ),
    ],
)
def test_what_is_not_in_the_catalogue_or_not_taken_is_refused(
    place: Workplace, arguments: list[str], words: str
) -> None:
    complains(place.do("models", *arguments), 2, words)
