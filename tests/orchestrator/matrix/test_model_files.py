"""Custom models: little to write where a published size fits, everything where none does."""

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.matrix import load_matrix
from orchestrator.matrix.model_config import implied
from orchestrator.matrix.model_files import read_models
from runner.contract.errors import MatrixError, SkipEntry
from runner.contract.models import ModelSpec, catalogue, find, model_sets

ENTRY = {"name": "ours", "family": "embedding", "size": "tiny", "modality": "text"}
WAVES = [{"name": "input_values", "kind": "normal", "shape": ["batch_size", 16000]}]


def read(entries: Any, folder: Path) -> dict[str, ModelSpec]:
    path = folder / "models.json"
    path.write_text(json.dumps(entries))
    return read_models(path)


def refusal(entries: Any, folder: Path) -> str:
    with pytest.raises(MatrixError) as caught:
        read(entries, folder)
    return str(caught.value).replace(str(folder / "models.json"), "models.json")


@pytest.mark.parametrize(
    ("family", "modality", "size", "twin"),
    [
        ("embedding", "text", "tiny", "bert-tiny"),
        ("embedding", "text", "base", "bert-base-uncased"),
        ("text_generation", "text", "base", "gpt2"),
        ("vision", "image", "base", "vit-base"),
    ],
)
def test_a_published_size_is_the_catalogues_model(
    family: str, modality: str, size: str, twin: str, tmp_path: Path
) -> None:
    entry = {"name": "ours", "family": family, "size": size, "modality": modality}
    ours, published = read([entry], tmp_path)["ours"], find(twin)
    assert ours.config == published.config
    assert (ours.task, ours.architecture) == (published.task, published.architecture)
    assert (ours.forward, ours.max_sequence_length) == (
        published.forward,
        published.max_sequence_length,
    )
    assert [tensor.shape for tensor in ours.inputs] == [tensor.shape for tensor in published.inputs]
    assert ours.labels is not None
    assert published.labels is not None
    drawn = {"low", "high"}
    assert ours.labels.model_dump(exclude=drawn) == published.labels.model_dump(exclude=drawn)
    assert ours.encoder_decoder == published.encoder_decoder
    assert ours.parameters is None


def test_config_changes_single_values_and_what_follows_from_them(tmp_path: Path) -> None:
    config = {"hidden_size": 64, "vocab_size": 100, "max_position_embeddings": 32}
    ours = read([ENTRY | {"config": config}], tmp_path)["ours"]
    assert (ours.config["hidden_size"], ours.config["num_hidden_layers"]) == (64, 2)
    assert ours.inputs[0].high == 100
    assert ours.labels is not None
    assert ours.labels.high == 100
    assert ours.max_sequence_length == 32


def test_an_images_side_follows_the_config(tmp_path: Path) -> None:
    entry = {"name": "v", "family": "vision", "size": "tiny", "modality": "image"}
    ours = read([entry | {"config": {"image_size": 96, "num_labels": 7}}], tmp_path)["v"]
    assert ours.inputs[0].shape == ("batch_size", 3, 96, 96)
    assert ours.labels is not None
    assert (ours.labels.shape, ours.labels.high) == (("batch_size",), 7)


def test_what_no_ladder_covers_brings_everything_itself(tmp_path: Path) -> None:
    entry = {
        "name": "speech",
        "family": "audio",
        "size": "30M",
        "modality": "audio",
        "architecture": "AutoModelForAudioClassification",
        "config": {"model_type": "wav2vec2"},
        "inputs": WAVES,
    }
    speech = read([entry], tmp_path)["speech"]
    assert speech.task == "audio-classification"
    assert not speech.takes_sequence
    assert speech.labels is None
    assert not speech.encoder_decoder
    assert read([entry | {"task": "ctc"}], tmp_path)["speech"].task == "ctc"


def test_a_whole_configuration_needs_no_size(tmp_path: Path) -> None:
    config = {"model_type": "mamba", "architectures": ["MambaForCausalLM"], "vocab_size": 9}
    ours = read([{"name": "ours", "config": config}], tmp_path)["ours"]
    assert (ours.family, ours.weights, ours.config) == ("text_generation", "random", config)
    of_family = {"family": "text_generation", "modality": "text", "config": {"model_type": "mamba"}}
    theirs = read([{"name": "theirs", "inputs": WAVES, **of_family}], tmp_path)["theirs"]
    assert (theirs.architecture, theirs.labels) == ("AutoModelForCausalLM", None)


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"size": "huge"}, "[0].size: 'huge' is not one of tiny, mini, small, medium, base, large "
         "for embedding models of text; or add config, architecture, inputs"),
        ({"family": "audio", "modality": "audio", "architecture": "A"},
         "[0].size: no published sizes are known for audio models of audio: add config, inputs"),
        ({"name": "no spaces"}, "[0].name: 'no spaces' does not match the pattern"),
        ({"name": "bert-tiny"}, "[0].name: 'bert-tiny' is taken already"),
        ({"config": {"model_type": "mamba"}},
         "[0].size: tiny is BERT's, and this is a mamba: leave it out and add inputs"),
        ({"config": {"model_type": "mamab"}}, "[0].config: names model_type 'mamab', which "
         "transformers 5.23.0 doesn't have; did you mean mamba?"),
        ({"config": {"vocab_size": "many"}}, "[0].inputs: is required: the configuration "
         "says 'many' for vocab_size, which is not a whole number from 1 to 1,000,000,000,000"),
        ({"inputs": [{"name": "x", "kind": "normal", "shape": [1], "hi": 1}]},
         "[0].inputs[0].hi: unknown key; did you mean high? (name, kind, shape, low, high"),
    ],
)  # fmt: skip
def test_each_mistake_has_its_sentence(
    entry: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    assert sentence in refusal([ENTRY | entry], tmp_path)


def test_all_entries_are_checked_at_once(tmp_path: Path) -> None:
    found = refusal([ENTRY, {"name": "b"}, ENTRY, 7], tmp_path).splitlines()
    assert found == [
        "models.json: [1]: needs the path of a folder, or family, modality and size, or config",
        "models.json: [2].name: 'ours' is taken already",
        "models.json: [3]: must be a mapping of keys to values",
    ]


@pytest.mark.parametrize("entries", [[], {}, None, {"models": [ENTRY]}, "x"])
def test_the_file_is_a_list(entries: Any, tmp_path: Path) -> None:
    assert "must be a list of models" in refusal(entries, tmp_path)


def test_a_matrix_finds_the_file_beside_itself(tmp_path: Path) -> None:
    (tmp_path / "ours.yaml").write_text(
        "- {name: ours, family: vision, size: tiny, modality: image}\n"
    )
    path = tmp_path / "matrix.yaml"
    path.write_text(
        "version: 1\n"
        "axes: {model: [small, ours.yaml], precision: [fp32, bf16]}\n"
        "exclude: [{model: ours, precision: bf16}]\n"
    )
    matrix = load_matrix(path)
    assert matrix.axes["model"] == (*model_sets()["small"], "ours")
    assert matrix.models["ours"].family == "vision"


def test_two_files_cannot_mean_different_models_by_one_name(tmp_path: Path) -> None:
    for size in ("tiny", "base"):
        (tmp_path / f"{size}.json").write_text(json.dumps([ENTRY | {"size": size}]))
    path = tmp_path / "matrix.yaml"
    path.write_text("version: 1\naxes: {model: [tiny.json, base.json]}\n")
    with pytest.raises(MatrixError, match=r"axes\.model\[1\]: 'ours' stands in another file too"):
        load_matrix(path)


BERT = {"name": "prajjwal1/bert-tiny", "family": "embedding", "size": "tiny", "modality": "text"}


def written(folder: Path, data: Any) -> Path:
    path = folder / "models.json"
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize("name", ["prajjwal1/bert-tiny", "bert-tiny"])
def test_an_own_name_stands_for_a_bundled_model(tmp_path: Path, name: str) -> None:
    (model,) = read_models(written(tmp_path, {"bert": {**BERT, "name": name}})).values()
    assert model == catalogue()["bert-tiny"].model_copy(update={"name": "bert"})
    assert [*read_models(written(tmp_path, {"bert-tiny": BERT}))] == ["bert-tiny"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"x": {**BERT, "name": "somebody/unheard-of"}}, "nothing is downloaded here"),
        ({"x": {**BERT, "family": "vision"}}, "is 'vision', and bert-tiny is embedding"),
        ({"gpt2": BERT}, "'gpt2' is taken already"),
        ({"x": BERT, "y": 1}, "must be a list of models"),
    ],
)
def test_what_would_be_another_model_is_refused(tmp_path: Path, data: Any, message: str) -> None:
    with pytest.raises(MatrixError, match=message):
        read_models(written(tmp_path, data))


CLASSES = {
    "llava_next": "LlavaNextForConditionalGeneration",
    "llava_onevision": "LlavaOnevisionForConditionalGeneration",
    "qwen2_vl": "Qwen2VLForConditionalGeneration",
    "qwen3_vl": "Qwen3VLForConditionalGeneration",
}
READERS = [name for name, spec in catalogue().items() if spec.image_prompt]


def described(name: str, **changes: Any) -> ModelSpec:
    config = dict(catalogue()[name].config)
    config |= {"architectures": [CLASSES[config["model_type"]]]}
    for key, value in changes.items():
        part, _, last = key.rpartition("__")
        config |= {part: config[part] | {last: value}} if part else {last: value}
    facts = {"name": "mine", "config": config}
    return ModelSpec.model_validate(facts | implied(config, facts))


@pytest.mark.parametrize("name", READERS)
def test_a_folder_is_described_as_the_catalogues_model(name: str) -> None:
    mine, published = described(name), catalogue()[name]
    same = ("family", "task", "modality", "architecture", "forward", "image_prompt")
    for field in (*same, "max_sequence_length"):
        assert getattr(mine, field) == getattr(published, field), field
    for ours, theirs in zip(mine.inputs, published.inputs, strict=True):
        assert (ours.name, ours.kind, ours.shape, ours.values) == (
            theirs.name, theirs.kind, theirs.shape, theirs.values,
        )  # fmt: skip
    assert mine.labels is not None
    assert mine.labels.high == mine.inputs[0].high
    assert (mine.inputs[0].high or 0) >= (published.inputs[0].high or 0)
    assert mine.image_size is not None
    assert published.image_size is not None
    assert mine.image_size.multiple_of == published.image_size.multiple_of
    if not name.endswith("-micro"):
        assert mine.image_size.default == published.image_size.default


@pytest.mark.parametrize(
    ("name", "changes", "sentence"),
    [
        ("qwen2-vl-2b", {"image_token_id": None}, "has no image_token_id"),
        ("qwen2-vl-2b", {"image_token_id": -1}, "says -1 for image_token_id"),
        ("qwen2-vl-2b", {"vision_config__patch_size": None}, "has no patch_size"),
        ("llava-v1.6-mistral-7b", {"vision_config__image_size": None}, "has no image_size"),
        ("llava-v1.6-mistral-7b", {"image_grid_pinpoints": [[28, 336]]}, "of at least 336"),
        ("llava-onevision-0.5b", {"vision_aspect_ratio": "pad"}, "not such as anyres_max_9"),
    ],
)
def test_what_the_arithmetic_of_images_needs_is_asked_for(
    name: str, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(SkipEntry, match=sentence):
        described(name, **changes)
