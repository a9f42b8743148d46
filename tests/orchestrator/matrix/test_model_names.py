"""A matrix names models as people know them: a folder, a hub id, other letters; else it guesses."""

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.commands.options.axes import BenchOptions
from orchestrator.commands.options.bench_matrix import bench_matrix
from orchestrator.matrix import Matrix
from orchestrator.matrix.load import load_matrix
from orchestrator.planning.expand import expand
from orchestrator.planning.plan import make_plan
from runner.contract.errors import UsageError
from runner.contract.models import ModelSpec, catalogue
from tests.support.weights import BERT, a_weights_folder


def a_kind(model_type: str, architecture: str, **keys: Any) -> dict[str, Any]:
    return {"architectures": [architecture], "model_type": model_type, **keys}


GPT2 = a_kind("gpt2", "GPT2LMHeadModel", vocab_size=9, n_positions=8)
T5 = a_kind("t5", "T5ForConditionalGeneration", vocab_size=9, is_encoder_decoder=True)
VIT = a_kind("vit", "ViTForImageClassification", image_size=32, num_channels=3)
WAVE = a_kind("hubert", "HubertForCTC", vocab_size=9, conv_dim=[8])
WHISPER = a_kind(
    *("whisper", "WhisperForConditionalGeneration"),
    is_encoder_decoder=True,
    vocab_size=9,
    num_mel_bins=80,
    max_source_positions=1500,
    max_target_positions=448,
)
CLIP = a_kind(
    *("clip", "CLIPModel"),
    text_config={"vocab_size": 99, "max_position_embeddings": 8, "eos_token_id": 98},
    vision_config={"image_size": 32, "num_channels": 3},
)
RESNET = a_kind("resnet", "ResNetForImageClassification", num_channels=3)
DETR = a_kind("detr", "DetrForObjectDetection", num_channels=3, is_encoder_decoder=True)
SEGFORMER = a_kind("segformer", "SegformerForSemanticSegmentation", num_channels=3)
YOLOS = a_kind("yolos", "YolosForObjectDetection", image_size=[32, 64], num_channels=3)
VISION, TEXT = {"image_size": 32}, {"vocab_size": 9}
LLAVA = a_kind("llava", "LlavaForConditionalGeneration", vision_config=VISION, text_config=TEXT)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def bench(*models: str) -> Matrix:
    return bench_matrix(BenchOptions.of_axes({"model": models}))


def refusal(*models: str) -> str:
    with pytest.raises(UsageError) as caught:
        bench(*models)
    assert caught.value.exit_code == 2
    return str(caught.value)


def a_config(folder: str, config: dict[str, Any]) -> None:
    Path(folder).mkdir(parents=True)
    Path(folder, "config.json").write_text(json.dumps(config))


def the_model(matrix: Matrix) -> ModelSpec:
    (spec,) = matrix.models.values()
    return spec


def test_a_folder_is_a_model_with_the_weights_that_lie_there(here: Path) -> None:
    a_weights_folder(here / "models/mine")
    matrix = bench("./models/mine")
    spec = the_model(matrix)
    assert (spec.name, spec.family, spec.modality) == ("mine", "embedding", "text")
    assert (spec.weights, spec.path, spec.parameters) == ("pretrained", f"{here}/models/mine", 1616)
    assert matrix.notes == (
        "./models/mine: embedding of text, AutoModel, pretrained weights (1,616 parameters)",
    )
    plan = make_plan(matrix)
    assert [entry.cell.id for entry in plan.entries] == ["cpu-mine-fp32-b1-s64-inference"]
    assert plan.notes == matrix.notes


def test_a_path_with_a_comma_is_one_value_of_an_option(here: Path) -> None:
    a_config("bert,tuned", GPT2)
    a_config("plain", GPT2)
    assert list(bench("./bert,tuned").models) == ["bert-tuned"]
    assert list(bench("bert,tuned", "./plain").models) == ["bert-tuned", "plain"]
    assert "'./bert' is not a folder" in refusal("./bert,tuned,./plain")


@pytest.mark.parametrize(
    ("config", "facts"),
    [
        (BERT, ("embedding", "text", "AutoModel", "feature-extraction", False)),
        (GPT2, ("text_generation", "text", "AutoModelForCausalLM", "text-generation", True)),
        (T5, ("text_generation", "text", "AutoModelForSeq2SeqLM", "text2text-generation", True)),
        (VIT, ("vision", "image", "AutoModelForImageClassification", "image-classification", True)),
        (RESNET, ("vision", "image", "AutoModelForImageClassification", "image-classification",
                  True)),
        (CLIP, ("multimodal", "multimodal", "AutoModel", "feature-extraction", False)),
        (DETR, ("vision", "image", "AutoModelForObjectDetection", "object-detection", True)),
        (YOLOS, ("vision", "image", "AutoModelForObjectDetection", "object-detection", False)),
        (SEGFORMER, ("vision", "image", "AutoModelForSemanticSegmentation", "image-segmentation",
                     False)),
        (WAVE, ("audio", "audio", "AutoModelForCTC", "automatic-speech-recognition", True)),
        (WHISPER, ("audio", "audio", "AutoModelForSpeechSeq2Seq", "automatic-speech-recognition",
                   True)),
    ],
    ids=lambda value: value.get("model_type") if isinstance(value, dict) else "",
)  # fmt: skip
def test_what_a_configuration_tells(config: dict[str, Any], facts: tuple[Any, ...]) -> None:
    a_config("mine", config)
    spec = the_model(bench("./mine"))
    told = (spec.family, spec.modality, spec.architecture, spec.task, spec.labels is not None)
    assert told == facts
    twin = next(
        (s for s in catalogue().values() if s.config["model_type"] == config["model_type"]), None
    )
    assert twin is None or [i.name for i in spec.inputs] == [i.name for i in twin.inputs]


def test_a_detector_writes_no_tokens_and_an_image_may_be_wider_than_high() -> None:
    a_config("detr", DETR)
    a_config("yolos", YOLOS)
    detr, yolos = bench("./detr", "./yolos").models.values()
    assert (detr.encoder_decoder, detr.task, detr.inputs[1].name) == (
        False, "object-detection", "pixel_mask",
    )  # fmt: skip
    assert yolos.inputs[0].shape == ("batch_size", 3, 32, 64)


def test_a_matrix_names_folders_beside_itself(here: Path) -> None:
    a_weights_folder(here / "sub/mine")
    file = here / "sub/matrix.yaml"
    file.write_text(
        "version: 1\naxes: {model: [bert-tiny, ./mine], batch_size: [1, 2]}\n"
        "exclude: [{model: ./mine, batch_size: 2}]\n"
    )
    cells = [cell.id for cell, _ in expand(load_matrix(file)).cells]
    names = ("bert-tiny-fp32-b1-s128", "bert-tiny-fp32-b2-s128", "mine-fp32-b1-s64")
    assert cells == [f"cpu-{name}-inference" for name in names]


@pytest.mark.parametrize(
    ("folder", "named", "name"),
    [
        ("my model (v2)", "./my model (v2)", "my-model-v2"),
        ("a/-x_", "a/-x_/", "x_"),
        ("mine", "mine", "mine"),
        ("a/b", "a/../a/b", "b"),
        ("models--some--model/snapshots/abc", "./models--some--model/snapshots/abc", "model"),
        ("données", "./données", "donn-es"),
        ("x" * 150, "./" + "x" * 150, "x" * 100),
    ],
)
def test_a_folders_name_becomes_one_for_cell_ids(folder: str, named: str, name: str) -> None:
    a_config(folder, GPT2)
    matrix = bench(named)
    assert list(matrix.models) == [name]
    called = named if Path(named).name == name else f"{named} ({name})"
    assert matrix.notes[0].startswith(f"{called}: text_generation of text, ")


def test_two_spellings_of_a_folder_are_one_model() -> None:
    a_config("mine", GPT2)
    assert bench("./mine", "mine").axes["model"] == ("mine",)


def test_names_that_collide_are_refused_in_words() -> None:
    for folder in ("bert-tiny", "a/mine", "b/mine", "Small"):
        a_config(folder, GPT2 | {"n_positions": len(folder)})
    remedy = "rename the folder, or name a link to it (ln -s"
    assert f"would be called bert-tiny, and the catalogue has that name: {remedy}" in refusal(
        "./bert-tiny"
    )
    assert "would be called Small, and the catalogue" in refusal("./Small")
    assert list(bench("bert-tiny").models) == ["bert-tiny"]
    a_config("c/mine", GPT2 | {"n_positions": 9})
    message = refusal("./a/mine", "./c/mine")
    assert "--model: './c/mine' would be called mine, and so is ./a/mine" in message
    Path("c/other").symlink_to("mine")
    assert list(bench("./a/mine", "./c/other").models) == ["mine", "other"]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("google-bert/bert-base-uncased", "bert-base-uncased"),
        ("vit-base-patch16-224", "vit-base"),
        ("Bert-Tiny", "bert-tiny"),
    ],
)
def test_hub_ids_and_other_letters_name_the_catalogues_models(name: str, known: str) -> None:
    matrix = bench(name)
    assert matrix.axes["model"] == (known,)
    assert matrix.notes == (f"{name} is {known} of the catalogue, with random weights",)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("bert-tny", "no model 'bert-tny'; did you mean bert-tiny? (41 models: orchestrator"),
        ("BertModel", "'BertModel' is a class, not a model; did you mean bert-base-uncased"),
        ("bert", "'bert' is a kind of model; did you mean bert-base-uncased, bert-tiny or bert"),
        ("microsoft/phi-2", "no model 'microsoft/phi-2' in the catalogue, and nothing is"),
        ("someone/something", "no model 'someone/something' in the catalogue, and nothing is "
         "downloaded here: get it by `hf download someone/something --local-dir something`, then "
         "name ./something"),
        ("qqqq", "no model 'qqqq' (41 models: orchestrator models list; of your own: ./folder, or"),
        ("./mne", "'./mne' is not a folder (looked in "),
        ("./mine/config.json", "is the configuration of a model: name its folder, mine/"),
        ("./empty", "'empty' holds no config.json, so it is no model"),
        ("./" + "x" * 5000, "is not a folder"),
        ("./\0", "is not a folder"),
    ],
)  # fmt: skip
def test_what_is_no_model_gets_a_guess_or_what_to_do(name: str, sentence: str) -> None:
    a_config("mine", BERT)
    Path("mine/weights").touch()
    Path("empty").mkdir()
    assert sentence in refusal(name)


OWN = {"model_type": "mine", "auto_map": {"AutoModel": "modeling_mine.Mine"}}


@pytest.mark.parametrize(
    ("config", "files", "sentence"),
    [
        (OWN, [], "brings its own code (modeling_mine.py); AccelMatrix runs none, and config"),
        (BERT | {"auto_map": {"AutoConfig": "a/b--configuration_b.C", "AutoModel": "m.M"}}, [],
         "(a/b--configuration_b.py, m.py)"),
        (BERT | {"auto_map": {"AutoTokenizer": ["t.T", None]}}, ["modeling_own.py"],
         "(modeling_own.py); AccelMatrix runs none. If transformers' own bert is the same"),
        ({"model_type": "bort"}, [], "doesn't have; did you mean bert?"),
        (BERT, ["pytorch_model.bin"],
         "holds no .safetensors file, the one format that is loaded, but pytorch_model.bin"),
        (BERT | {"quantization_config": {"quant_method": "gptq"}}, [],
         "holds quantised weights ('gptq'), which are not loaded"),
        (LLAVA, [], "'mine': inputs is required: it doesn't follow from the files of a 'llava'; it "
         "does for models of text, of images (classes, boxes, segments, depth), of sound (letters, "
         "classes, Whisper), CLIP, SigLIP, Qwen-VL, LLaVA-NeXT and LLaVA-OneVision; give it in a "
         "file of custom models, beside name and path"),
        (DETR | {"use_timm_backbone": True}, [], "takes a part from timm, a library that no image"),
        (VIT | {"image_size": [32, "big"]}, [], "the configuration says 'big' for image_size"),
        (WHISPER | {"max_source_positions": 10**12}, [], "'mine': inputs[0].shape"),
    ],
)  # fmt: skip
def test_a_folder_that_cannot_be_measured_says_why_in_the_plan(
    config: dict[str, Any], files: list[str], sentence: str
) -> None:
    a_config("mine", config)
    for file in files:
        Path("mine", file).touch()
    assert sentence in refusal("./mine")


def test_code_for_other_parts_than_the_model_is_left_alone() -> None:
    a_config("mine", BERT | {"auto_map": {"AutoTokenizer": ["tokenization_mine.T", None]}})
    Path("mine/tokenization_mine.py").write_text("raise SystemExit")
    assert the_model(bench("./mine")).weights == "random"
