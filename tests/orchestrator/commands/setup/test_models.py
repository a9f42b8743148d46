"""`models`: the catalogue, and a model at its usual sizes, at others, and on all that runs it."""

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.commands.setup.models import ModelSheet, model_sheets
from runner.contract.axes import Backend, Runtime
from runner.contract.cell import Cell
from runner.contract.errors import MatrixError, Unsupported, UsageError
from runner.contract.models import catalogue, find, model_sets, work
from runner.contract.support import why_not
from tests.support.command_line import complains
from tests.support.weights import a_weights_folder
from tests.support.words import raises_words, words_of
from tests.support.workplace import Workplace


def shapes(sheet: ModelSheet) -> dict[str, tuple[int, ...]]:
    return {tensor.spec.name: tensor.shape for tensor in sheet.tensors}


def sheet_of(name: str, mode: str = "inference", **sizes: int | None) -> ModelSheet:
    """The sheet of a name that stands for one model."""
    (sheet,) = model_sheets(name, mode, **sizes)
    return sheet


def support(sheet: ModelSheet, backend: Backend, runtime: Runtime) -> tuple[set[str], str]:
    found = next(t for t in sheet.backends if (t.backend, t.runtime) == (backend, runtime))
    return set(found.precisions), "; ".join(found.reasons)


@pytest.mark.parametrize("name", catalogue())
def test_every_model_has_a_sheet_and_someone_who_takes_it(name: str) -> None:
    sheet = sheet_of(name)
    assert sheet.model == find(name)
    assert all(size > 0 for shape in shapes(sheet).values() for size in shape)
    assert sheet.notes == ()
    assert {"fp32", "bf16"} <= support(sheet, "cpu", "torch")[0]


def test_sizes_asked_for_go_into_shapes_and_work() -> None:
    sheet = sheet_of("qwen2-vl-micro", batch_size=2, sequence_length=20, image_size=112)
    assert shapes(sheet)["input_ids"] == (2, 20 + 2 + 16)
    assert shapes(sheet)["pixel_values"] == (2 * 64, 1176)
    assert sheet.work == work(sheet.model, sheet.cell)
    assert sheet.cell.batch_size == 2


def test_who_takes_it_and_why_not_is_what_a_matrix_would_say() -> None:
    sheet = sheet_of("bert-micro", "training")
    for found in sheet.backends:
        on = {"backend": found.backend, "runtime": found.runtime}
        cells: list[Cell] = [
            sheet.cell.model_copy(update={**on, "precision": precision})
            for precision in ("fp32", "bf16", "fp16", "int8")
        ]
        reasons = [words_of(why_not(cell, sheet.model)) for cell in cells]
        taken = [cell.precision for cell, why in zip(cells, reasons, strict=True) if why is None]
        assert list(found.precisions) == taken
        assert list(found.reasons) == list(dict.fromkeys(why for why in reasons if why))


@pytest.mark.parametrize("name", model_sets()["micro"])
def test_every_micro_model_trains_on_the_cpu(name: str) -> None:
    sheet = sheet_of(name, "training", batch_size=2)
    assert {"fp32", "bf16"} <= support(sheet, "cpu", "torch")[0]


def test_hub_ids_folders_and_files_of_models_have_sheets_too(tmp_path: Path) -> None:
    assert sheet_of("openai-community/gpt2").model == find("gpt2")
    sheet = sheet_of(str(a_weights_folder(tmp_path / "mine")))
    assert (sheet.model.name, sheet.model.weights) == ("mine", "pretrained")
    assert shapes(sheet)["input_ids"] == (1, 64)
    file = tmp_path / "models.json"
    entry = {"family": "vision", "modality": "image"}
    sized = [entry | {"name": f"our-{size}", "size": size} for size in ("tiny", "base")]
    file.write_text(json.dumps([*sized, {"name": "ours", "path": "mine"}]))
    sheets = model_sheets(str(file))
    assert [s.model.name for s in sheets] == ["our-tiny", "our-base", "ours"]
    assert [s.cell.model for s in sheets] == ["our-tiny", "our-base", "ours"]


@pytest.mark.parametrize(
    ("name", "sizes", "error", "words"),
    [
        ("micro", {}, UsageError, "micro is a set of 18 models, not a model"),
        ("gtp2", {}, MatrixError, "models show: no model 'gtp2'; did you mean gpt2?"),
        ("./nowhere", {}, MatrixError, "models show: './nowhere' is not a folder"),
        ("qwen2-vl-2b", {"image_size": 450}, Unsupported, "takes image_size of .*, not 450"),
    ],
)
def test_what_is_wrong_is_named(
    name: str, sizes: dict[str, Any], error: type[Exception], words: str
) -> None:
    with raises_words(error, match=words):
        model_sheets(name, **sizes)


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


def test_an_unknown_family_is_refused_with_those_there_are(place: Workplace) -> None:
    complains(place.do("models", "list", "--family", "speech"), 2, "'speech' is not one of")
