"""The origin's object of custom models: own names for bundled models, and claims that must hold."""

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.matrix.model_files import read_models
from runner.contract.errors import MatrixError
from runner.contract.models import catalogue

BERT = {"name": "prajjwal1/bert-tiny", "family": "embedding", "size": "tiny", "modality": "text"}


def written(folder: Path, data: Any) -> Path:
    path = folder / "models.json"
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize("name", ["prajjwal1/bert-tiny", "bert-tiny"])
def test_an_own_name_stands_for_a_bundled_model(tmp_path: Path, name: str) -> None:
    (model,) = read_models(written(tmp_path, {"bert": {**BERT, "name": name}})).values()
    known = catalogue()["bert-tiny"]
    assert model == known.model_copy(update={"name": "bert"})
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
