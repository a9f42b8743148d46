"""Weights are known by what their files hold, not by where they lie."""

from pathlib import Path

import pytest

from runner.contract.errors import DamagedFile, Unavailable
from runner.contract.models import ModelSpec, find
from runner.contract.weights import (
    count_parameters,
    revision_of,
    weight_files,
    weights_folder,
)
from tests.support.weights import a_weights_folder, write_safetensors


def test_only_weights_make_a_revision_and_every_one_of_them(tmp_path: Path) -> None:
    first, same = (a_weights_folder(tmp_path / name) for name in ("a", "b"))
    (same / "README.md").write_text("words")
    assert revision_of(first) == revision_of(same)
    assert revision_of(first) != revision_of(a_weights_folder(tmp_path / "c", fill=1))
    one = revision_of(first)
    write_safetensors(first / "model-00002.safetensors")
    assert revision_of(first) != one
    assert [path.name for path in weight_files(first)] == [
        "model-00002.safetensors",
        "model.safetensors",
    ]


@pytest.mark.parametrize(
    "content", [b"", b"\xff" * 64, b"\x02\0\0\0\0\0\0\0[]", b"\2\0\0\0\0\0\0\0{"]
)
def test_what_is_no_such_file_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(DamagedFile, match=r"model\.safetensors is not a \.safetensors file"):
        count_parameters(tmp_path)


def planned(folder: Path) -> ModelSpec:
    changes = {"weights": "pretrained", "path": str(folder), "revision": revision_of(folder)}
    return find("bert-tiny").model_copy(update=changes)


def test_the_folder_is_the_one_that_was_planned_or_refused(tmp_path: Path) -> None:
    assert weights_folder(find("bert-tiny")) is None
    folder = a_weights_folder(tmp_path / "a")
    model = planned(folder)
    assert weights_folder(model) == folder
    write_safetensors(folder / "model.safetensors", fill=1)
    reason = f"{revision_of(folder)}, and {model.revision} were planned"
    with pytest.raises(Unavailable, match=reason):
        weights_folder(model)
    (folder / "model.safetensors").unlink()
    with pytest.raises(Unavailable, match="there are no weights in it"):
        weights_folder(model)
