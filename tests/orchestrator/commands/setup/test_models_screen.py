"""Models on the screen: the catalogue's list and one model's sheet."""

import json

from orchestrator.commands.setup.models import model_sheets
from orchestrator.commands.setup.models_words import print_models, print_sheets
from runner.contract.models import find
from tests.orchestrator.conftest import Screen

SETS = {"bert-tiny": "small", "bert-micro": "micro"}


def test_the_list_tells_size_sets_and_where_a_model_is_from(screen: Screen) -> None:
    head, tiny, micro = screen.words(print_models, [find(name) for name in SETS], SETS)
    assert head[:4] == ["model", "family", "parameters", "task"]
    assert tiny[2:] == ["4.4", "M", "fill-mask", "small", "prajjwal1/bert-tiny"]
    assert micro[2:] == ["67.7", "k", "fill-mask", "micro", "–"]
    (data,) = screen.data(print_models, [find("bert-tiny")], SETS)
    assert (data["sets"], data["config"]["hidden_size"]) == ("small", 128)


def test_a_model_shows_its_inputs_at_these_sizes(screen: Screen) -> None:
    lines = screen.lines(print_sheets, model_sheets("qwen2-vl-micro", batch_size=2))
    (head,) = [line for line in lines if line.startswith("input ")]
    assert head.endswith("at batch_size 2, sequence_length 128, image_size 56")
    (pixels,) = [line for line in lines if line.startswith("pixel_values")]
    assert pixels.endswith("  32 × 1176")
    assert "(batch_size × image_patches) × 1176" in pixels


def test_a_model_shows_who_can_take_it_and_why_not_without_empty_facts(screen: Screen) -> None:
    lines = screen.lines(print_sheets, model_sheets("bert-micro", "generation"))
    assert any(line.startswith("backend ") and "generation in" in line for line in lines)
    reason = "generation is not possible with bert-micro: its task is fill-mask"
    assert any(line.startswith("cpu ") and reason in line for line in lines)
    facts = {line.split()[0] for line in lines if line}
    assert {"max_sequence_length", "weights", "modes"} <= facts
    assert not facts & {"hub_id", "licence", "image_prompt", "contrastive", "fixed"}


def test_a_model_as_json_is_its_description_and_the_sheet(screen: Screen) -> None:
    data = screen.data(print_sheets, model_sheets("clap-micro"))
    assert json.loads(find("clap-micro").model_dump_json()).items() <= data.items()
    assert data["sizes"] == {"batch_size": 1, "sequence_length": 128, "audio_seconds": 2}
    assert (data["shapes"]["is_longer"], data["work"]["macs"] > 0) == ([1, 1], True)
    assert set(data["memory_bytes"]) == {"fp32", "bf16", "fp16", "int8"}
    assert {"backend": "cpu", "runtime": "torch"}.items() <= data["backends"][0].items()
