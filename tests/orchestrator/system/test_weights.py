"""A launch sees the weights that were planned, or none."""

from pathlib import Path

import pytest

from orchestrator.system.weights import revision, weights_folder
from runner.contract.errors import Unavailable
from runner.contract.models import ModelSpec, find
from tests.support.weights import a_weights_folder, write_safetensors


def planned(folder: Path) -> ModelSpec:
    changes = {"weights": "pretrained", "path": str(folder), "revision": revision(folder)}
    return find("bert-tiny").model_copy(update=changes)


def test_random_weights_need_no_folder() -> None:
    assert weights_folder(find("bert-tiny")) is None


def test_the_folder_is_the_one_that_was_planned(tmp_path: Path) -> None:
    folder = a_weights_folder(tmp_path / "a")
    assert weights_folder(planned(folder)) == folder


def test_other_weights_than_the_planned_ones_are_refused(tmp_path: Path) -> None:
    folder = a_weights_folder(tmp_path / "a")
    model = planned(folder)
    write_safetensors(folder / "model.safetensors", fill=1)
    with pytest.raises(Unavailable, match=f"{revision(folder)}, and {model.revision} were planned"):
        weights_folder(model)


def test_a_folder_that_is_gone_is_refused(tmp_path: Path) -> None:
    folder = a_weights_folder(tmp_path / "a")
    model = planned(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(Unavailable, match="there are no weights in it"):
        weights_folder(model)
