"""An entry with pretrained weights says where they lie; their files say the rest."""

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.matrix.model_files import read_models
from runner.contract.errors import MatrixError
from runner.contract.models import ModelSpec
from runner.contract.weights import revision_of
from tests.support.weights import BERT, a_weights_folder

ENTRY = {
    "name": "ours",
    "family": "embedding",
    "modality": "text",
    "weights": "pretrained",
    "path": "weights",
}
HUB = {key: value for key, value in ENTRY.items() if key != "path"} | {"hub_id": "some/model"}
WAVES = [{"name": "input_values", "kind": "normal", "shape": ["batch_size", 16000]}]


def read(entry: dict[str, Any], folder: Path) -> ModelSpec:
    (folder / "models.json").write_text(json.dumps([entry]))
    return read_models(folder / "models.json")["ours"]


def refusal(entry: dict[str, Any], folder: Path) -> str:
    with pytest.raises(MatrixError) as caught:
        read(entry, folder)
    return str(caught.value).replace(f"{folder / 'models.json'}: ", "").replace(f"{folder}/", "")


def test_the_folder_beside_the_file_tells_everything(tmp_path: Path) -> None:
    folder = a_weights_folder(tmp_path / "weights")
    ours = read(ENTRY, tmp_path)
    assert (ours.weights, ours.path, ours.hub_id) == ("pretrained", str(folder), None)
    assert ours.revision == revision_of(folder)
    assert (ours.architecture, ours.task) == ("AutoModel", "feature-extraction")
    assert ours.config == BERT
    assert [(tensor.name, tensor.high) for tensor in ours.inputs] == [
        ("input_ids", 100),
        ("attention_mask", None),
    ]
    assert (ours.max_sequence_length, ours.parameters, ours.labels) == (64, 1616, None)
    assert not ours.encoder_decoder


def test_the_folder_tells_family_modality_and_that_it_has_weights(tmp_path: Path) -> None:
    a_weights_folder(tmp_path / "weights")
    ours = read({"name": "ours", "path": "weights"}, tmp_path)
    assert ours == read(ENTRY, tmp_path)
    drawn = read({"name": "ours", "path": "weights", "weights": "random"}, tmp_path)
    assert (drawn.weights, drawn.path, drawn.config) == ("random", None, BERT)


@pytest.mark.parametrize(
    ("original", "architecture", "task", "trains"),
    [
        ("BertForMaskedLM", "AutoModelForMaskedLM", "fill-mask", True),
        ("BertForSequenceClassification", "AutoModelForSequenceClassification",
         "text-classification", False),
        
        
    ],
)  # fmt: skip
def test_the_originals_class_tells_what_builds_it(
    original: str, architecture: str, task: str, trains: bool, tmp_path: Path
) -> None:
    a_weights_folder(tmp_path / "weights", BERT | {"architectures": [original]})
    ours = read(ENTRY, tmp_path)
    assert (ours.architecture, ours.task, ours.labels is not None) == (architecture, task, trains)


def test_classes_of_images_are_counted(tmp_path: Path) -> None:
    config = {
        "model_type": "vit",
        "architectures": ["ViTForImageClassification"],
        "image_size": 32,
        "num_channels": 3,
        "id2label": {"0": "cat", "1": "dog", "2": "neither"},
    }
    a_weights_folder(tmp_path / "weights", config)
    ours = read(ENTRY | {"family": "vision", "modality": "image"}, tmp_path)
    assert ours.inputs[0].shape == ("batch_size", 3, 32, 32)
    assert ours.labels is not None
    assert (ours.labels.high, ours.max_sequence_length) == (3, None)


def test_positions_that_begin_behind_the_padding_are_not_counted(tmp_path: Path) -> None:
    config = BERT | {"model_type": "roberta", "max_position_embeddings": 514}
    a_weights_folder(tmp_path / "weights", config)
    assert read(ENTRY, tmp_path).max_sequence_length == 512


def test_what_the_entry_says_goes_before_what_follows(tmp_path: Path) -> None:
    a_weights_folder(tmp_path / "weights")
    own = {"architecture": "AutoModelForMaskedLM", "max_sequence_length": 8, "inputs": WAVES}
    ours = read(ENTRY | own, tmp_path)
    assert (ours.architecture, ours.task) == ("AutoModelForMaskedLM", "fill-mask")
    assert (ours.max_sequence_length, ours.inputs[0].name) == (8, "input_values")


def test_a_hubs_config_stands_in_the_entry(tmp_path: Path) -> None:
    ours = read(HUB | {"config": BERT, "revision": "a" * 40}, tmp_path)
    assert (ours.hub_id, ours.path, ours.revision) == ("some/model", None, "a" * 40)
    assert (ours.config, ours.architecture, ours.parameters) == (BERT, "AutoModel", None)


@pytest.mark.parametrize(
    ("entry", "config", "sentence"),
    [
        (ENTRY | {"path": "nowhere"}, BERT, "[0].path: 'nowhere' is not a folder"),
        
        
        
        
        
        
        
        (ENTRY | {"hub_id": "a/b"}, BERT,
         "[0].weights: pretrained weights take a path or a hub_id, one of them"),
        (ENTRY | {"config": {"vocab_size": 3}}, BERT, "[0].config: is for weights of a hub"),
        (ENTRY | {"revision": "main"}, BERT, "[0].revision: is for weights of a hub"),
        (ENTRY | {"size": "tiny"}, BERT, "[0].size: unknown key; allowed are name, family"),
        (HUB, BERT, "[0].config: is required beside hub_id"),
    ],
)  # fmt: skip
def test_each_mistake_has_its_sentence(
    entry: dict[str, Any], config: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    a_weights_folder(tmp_path / "weights", config)
    assert sentence in refusal(entry, tmp_path)
