import json

import pytest

from orchestrator.app.setup.models import model_sheet
from orchestrator.render.models import print_model, print_models
from runner.contract.models import find

Capture = pytest.CaptureFixture[str]


def printed(capsys: Capture) -> list[str]:
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_the_list_tells_size_sets_and_where_a_model_is_from(capsys: Capture) -> None:
    models = [find("bert-tiny"), find("bert-micro")]
    print_models(models, {"bert-tiny": "small", "bert-micro": "micro"}, as_json=False)
    head, tiny, micro = (line.split() for line in printed(capsys))
    assert head[:4] == ["model", "family", "task", "parameters"]
    assert tiny[3:] == ["4416698", "small", "prajjwal1/bert-tiny"]
    assert micro[4:] == ["micro", "–"]


def test_the_list_as_json_holds_whole_models(capsys: Capture) -> None:
    print_models([find("bert-tiny")], {"bert-tiny": "small"}, as_json=True)
    (data,) = json.loads(capsys.readouterr().out)
    assert data["sets"] == "small"
    assert data["config"]["hidden_size"] == 128


def test_a_model_shows_its_inputs_at_these_sizes(capsys: Capture) -> None:
    print_model(model_sheet("qwen2-vl-micro", batch_size=2), as_json=False)
    lines = printed(capsys)
    (head,) = [line for line in lines if line.startswith("input ")]
    assert head.endswith("at batch_size 2, sequence_length 128, image_size 56")
    (pixels,) = [line.split("  ") for line in lines if line.startswith("pixel_values")]
    assert pixels[-1].strip() == "32 × 1176"
    assert "(batch_size × image_patches) × 1176" in " ".join(pixels)


def test_a_model_shows_what_a_pass_takes(capsys: Capture) -> None:
    sheet = model_sheet("vit-micro")
    print_model(sheet, as_json=False)
    lines = printed(capsys)
    assert sheet.work is not None
    assert any(line.endswith(f" {sheet.work.macs:,}") for line in lines)
    assert sum(line.startswith("memory in ") for line in lines) == 4


def test_a_model_shows_who_can_take_it_and_why_not(capsys: Capture) -> None:
    print_model(model_sheet("bert-micro", "generation"), as_json=False)
    lines = printed(capsys)
    assert any(line.startswith("backend ") and "generation in" in line for line in lines)
    reason = "generation is not possible with bert-micro: its task is fill-mask"
    assert any(line.startswith("cpu ") and reason in line for line in lines)


def test_what_a_model_does_not_know_is_noted(capsys: Capture) -> None:
    print_model(model_sheet("vit-micro", image_size=64), as_json=False)
    assert any(line.startswith("note: ") and "image_size" in line for line in printed(capsys))


def test_empty_facts_are_left_out(capsys: Capture) -> None:
    print_model(model_sheet("bert-micro"), as_json=False)
    facts = {line.split()[0] for line in printed(capsys) if line}
    assert "max_sequence_length" in facts
    assert not facts & {"hub_id", "licence", "image_prompt", "contrastive", "fixed"}


def test_a_model_as_json_is_its_description_and_the_sheet(capsys: Capture) -> None:
    print_model(model_sheet("clap-micro"), as_json=True)
    data = json.loads(capsys.readouterr().out)
    described = json.loads(find("clap-micro").model_dump_json())
    assert described.items() <= data.items()
    assert data["sizes"] == {"batch_size": 1, "sequence_length": 128, "audio_seconds": 2}
    assert data["shapes"]["is_longer"] == [1, 1]
    assert data["work"]["macs"] > 0
    assert set(data["memory_bytes"]) == {"fp32", "bf16", "fp16", "int8"}
    assert {"backend": "cpu", "runtime": "torch"}.items() <= data["backends"][0].items()
