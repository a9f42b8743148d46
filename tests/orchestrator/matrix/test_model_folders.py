"""A model's folder may come from anybody: whatever lies in it, one sentence says what is wrong."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.matrix.model_files import read_models
from orchestrator.system.weights import revision_of
from runner.contract.errors import MatrixError
from runner.contract.models import ModelSpec
from tests.support.weights import BERT, a_weights_folder, write_safetensors

ENTRY = {
    "name": "ours",
    "family": "embedding",
    "modality": "text",
    "weights": "pretrained",
    "path": "weights",
}
MASKED = BERT | {"architectures": ["BertForMaskedLM"]}
VIT = {
    "model_type": "vit",
    "architectures": ["ViTForImageClassification"],
    "image_size": 32,
    "num_channels": 3,
}
WRONG = [None, True, 0, -1, 5, 1.5, 10**400, "x", "", [], [1], [[]], {}, {"a": 1}, "\x1b[31m"]


def read(folder: Path, entry: dict[str, Any] = ENTRY) -> ModelSpec:
    (folder / "models.json").write_text(json.dumps([entry]))
    return read_models(folder / "models.json")["ours"]


def refusal(folder: Path, entry: dict[str, Any] = ENTRY) -> str:
    with pytest.raises(MatrixError) as caught:
        read(folder, entry)
    assert caught.value.exit_code == 2
    return str(caught.value).replace(f"{folder / 'models.json'}: ", "").replace(f"{folder}/", "")


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ("[" * 100_000, "[0].path: 'weights' cannot be read: config.json: nested"),
        ('{"a":' * 900 + "1" + "}" * 900, "config.json: nested deeper than 20 levels"),
        (b"\xff\xfe{\0}\0", "config.json is not UTF-8 text (byte 0)"),
        ('{"model_type": "bert"', "config.json: line 1: is not JSON: Expecting ',' delimiter"),
        ("[1]", "config.json in 'weights' names no model_type"),
        ('{"model_type": "bert", "a": "\\ud800"}', "config.json: a: is not Unicode text"),
        ('{"a": 1, "a": 2}', "config.json: the key 'a' appears twice"),
        ('{"a": 1e999}', "config.json: a: is not a finite number"),
        (" " * (17 << 20), "config.json has 17,825,792 bytes; at most 16,777,216 are allowed"),
    ],
)  # fmt: skip
def test_a_config_that_is_none_is_refused(
    config: str | bytes, sentence: str, tmp_path: Path
) -> None:
    content = config if isinstance(config, bytes) else config.encode()
    (a_weights_folder(tmp_path / "weights") / "config.json").write_bytes(content)
    assert sentence in refusal(tmp_path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"model_type": 5}, "[0].path: config.json in 'weights' names no model_type"),
        ({"architectures": 5}, "[0].architecture: is required: config.json says 5 for arch"),
        ({"model_type": "roberta", "max_position_embeddings": "x"},
         "[0].max_sequence_length: is required: the configuration says 'x' for max_position_embed"),
        ({"max_position_embeddings": -1}, "which is not a whole number from 1 to 1,000,000,000,0"),
        ({"max_position_embeddings": 10**400}, "config.json: max_position_embeddings: is too larg"),
        ({"vocab_size": True}, "[0].inputs: is required: the configuration says true for vocab"),
        ({"is_encoder_decoder": "no"}, "[0].encoder_decoder: is required: config.json says 'no'"),
        (VIT | {"image_size": [32]}, "the configuration says [32] for image_size, which"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named(change: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    a_weights_folder(tmp_path / "weights", MASKED | change)
    vision = {"family": "vision", "modality": "image"} if "image_size" in change else {}
    assert sentence in refusal(tmp_path, ENTRY | vision)


@pytest.mark.parametrize("sample", [MASKED, VIT], ids=["text", "vision"])
def test_no_value_of_any_key_is_a_bug(sample: dict[str, Any], tmp_path: Path) -> None:
    folder = a_weights_folder(tmp_path / "weights")
    vision = {"family": "vision", "modality": "image"} if "image_size" in sample else {}
    optional = ["id2label", "num_labels", "n_positions", "is_encoder_decoder", "text_config"]
    for key in [*sample, *optional]:
        for value in WRONG:
            config = sample | {key: value}
            (folder / "config.json").write_text(json.dumps(config))
            try:
                spec = read(tmp_path, ENTRY | vision)
            except MatrixError as error:
                assert str(error).startswith(f"{tmp_path / 'models.json'}: [0].")  # noqa: PT017
            else:
                assert ModelSpec.model_validate_json(spec.model_dump_json()) == spec


def test_numbers_that_json_lacks_are_kept_as_transformers_writes_them(tmp_path: Path) -> None:
    a_weights_folder(tmp_path / "weights", BERT | {"time_step_limit": [0.0, float("inf")]})
    assert read(tmp_path).config["time_step_limit"] == [0.0, {"__float__": "Infinity"}]


def a_link(path: Path, to: str) -> None:
    path.unlink()
    path.symlink_to(to)


def a_sparse_file(path: Path) -> None:
    with path.open("ab") as file:
        file.truncate(1 << 40)


def a_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_header(path: Path, header: object) -> None:
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text)


def test_files_that_a_package_manager_linked_from_its_cache_are_read(tmp_path: Path) -> None:
    folder, cache = a_weights_folder(tmp_path / "weights"), tmp_path / "cache"
    cache.mkdir()
    unlinked = read(tmp_path)
    for file in folder.iterdir():
        os.link(file, cache / file.name)
    os.link(tmp_path / "models.json", cache / "models.json")
    assert read(tmp_path) == unlinked


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (a_fifo, "is a FIFO, not a plain file"),
        (a_folder, "is a folder, not a plain file"),
        (a_sparse_file, "has 1,099,511,627,776 bytes; at most "),
        (lambda path: a_link(path, "/dev/zero"), "is a link that leads out of "),
        (lambda path: a_link(path, "../models.json"), "is a link that leads out of "),
        (lambda path: a_link(path, path.name), "is a link that leads in a circle"),
        (lambda path: a_link(path, "nowhere"), "is a link to a file that is missing"),
    ],
)
def test_only_plain_files_of_the_folder_are_read(
    name: str, spoil: Callable[[Path], None], reason: str, tmp_path: Path
) -> None:
    spoil(a_weights_folder(tmp_path / "weights") / name)
    message = refusal(tmp_path)
    assert message.startswith("[0].path: 'weights' cannot be read: ")
    assert name in message
    assert reason in message


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 10**12]}}, "is not a .safe"),
        ({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}, "is not whole: 0 bytes"),
        ({"a": {"dtype": "F32", "shape": [10**9] * 9, "data_offsets": [0, 0]}}, "claims more num"),
        ({"a": {"dtype": "F32", "shape": [2] * 99, "data_offsets": [0, 0]}}, "is not a .safetens"),
        ({"a": {"dtype": "F32", "shape": ["4"], "data_offsets": [0, 0]}}, "is not a .safetensors"),
        ({"a": {"dtype": "F32", "shape": [-4], "data_offsets": [0, 0]}}, "is not a .safetensors"),
        ([], "is not a .safetensors file"),
    ],
)  # fmt: skip
def test_a_header_of_weights_that_lies_is_refused(
    header: object, reason: str, tmp_path: Path
) -> None:
    a_header(a_weights_folder(tmp_path / "weights") / "model.safetensors", header)
    assert f"cannot be read: model.safetensors {reason}" in refusal(tmp_path)


@pytest.mark.parametrize("path", ["x" * 5000, "a\0b", "models.json/x", "\x1b[31m"])
def test_a_path_that_can_be_none_is_refused(path: str, tmp_path: Path) -> None:
    message = refusal(tmp_path, ENTRY | {"path": path})
    assert message.startswith("[0].path: ")
    assert "\x1b" not in message


def test_links_inside_a_hubs_cache_are_followed(tmp_path: Path) -> None:
    """`snapshots/<commit>/config.json` is a link to `blobs/<hash>`."""
    repository = tmp_path / "hub/models--some--model"
    snapshot = a_weights_folder(repository / "snapshots" / ("a" * 40))
    (repository / "blobs").mkdir()
    for path in list(snapshot.iterdir()):
        path.rename(repository / "blobs" / f"hash-{path.name}")
        path.symlink_to(f"../../blobs/hash-{path.name}")
    spec = read(tmp_path, ENTRY | {"path": str(snapshot)})
    assert (spec.config, spec.parameters) == (BERT, 1616)
    (tmp_path / "hub/secret").write_text("{}")
    a_link(snapshot / "config.json", "../../../secret")
    message = refusal(tmp_path, ENTRY | {"path": str(snapshot)})
    assert "config.json is a link that leads out of hub/models--some--model: put a copy" in message


def test_links_inside_the_folder_are_followed_and_it_may_be_one_itself(tmp_path: Path) -> None:
    folder = a_weights_folder(tmp_path / "real")
    write_safetensors(folder / "weights.bin")
    a_link(folder / "model.safetensors", "weights.bin")
    (tmp_path / "weights").symlink_to("real")
    assert read(tmp_path).parameters == 1616


HUB = {key: value for key, value in ENTRY.items() if key != "path"} | {"hub_id": "some/model"}
WAVES = [{"name": "input_values", "kind": "normal", "shape": ["batch_size", 16000]}]


def test_the_folder_beside_the_file_tells_everything(tmp_path: Path) -> None:
    folder = a_weights_folder(tmp_path / "weights")
    ours = read(tmp_path)
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
    assert read(tmp_path, {"name": "ours", "path": "weights"}) == read(tmp_path)
    drawn = read(tmp_path, {"name": "ours", "path": "weights", "weights": "random"})
    assert (drawn.weights, drawn.path, drawn.config) == ("random", None, BERT)


def test_classes_of_images_are_counted(tmp_path: Path) -> None:
    names = {"0": "cat", "1": "dog", "2": "neither"}
    a_weights_folder(tmp_path / "weights", VIT | {"id2label": names})
    ours = read(tmp_path, ENTRY | {"family": "vision", "modality": "image"})
    assert ours.inputs[0].shape == ("batch_size", 3, 32, 32)
    assert ours.labels is not None
    assert (ours.labels.high, ours.max_sequence_length) == (3, None)


def test_positions_that_begin_behind_the_padding_are_not_counted(tmp_path: Path) -> None:
    config = BERT | {"model_type": "roberta", "max_position_embeddings": 514}
    a_weights_folder(tmp_path / "weights", config)
    assert read(tmp_path).max_sequence_length == 512


def test_what_the_entry_says_goes_before_what_follows(tmp_path: Path) -> None:
    a_weights_folder(tmp_path / "weights")
    own = {"architecture": "AutoModelForMaskedLM", "max_sequence_length": 8, "inputs": WAVES}
    ours = read(tmp_path, ENTRY | own)
    assert (ours.architecture, ours.task) == ("AutoModelForMaskedLM", "fill-mask")
    assert (ours.max_sequence_length, ours.inputs[0].name) == (8, "input_values")


def test_a_hubs_config_stands_in_the_entry(tmp_path: Path) -> None:
    ours = read(tmp_path, HUB | {"config": BERT, "revision": "a" * 40})
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
    assert sentence in refusal(tmp_path, entry)
