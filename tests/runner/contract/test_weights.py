"""Weights are known by what their files hold, not by where they lie."""

import hashlib
from pathlib import Path

import pytest

from runner.contract.errors import DamagedFile, Unavailable
from runner.contract.models import ModelSpec, find
from runner.contract.weights import (
    WEIGHTS_VARIABLE,
    count_parameters,
    folder_of,
    revision_of,
    show_folder,
    weight_files,
    weights_folder,
)
from tests.support.weights import a_weights_folder, write_safetensors
from tests.support.words import raises_words

PRETRAINED = find("bert-tiny").model_copy(update={"weights": "pretrained", "path": "/host/folder"})


@pytest.fixture
def nothing_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WEIGHTS_VARIABLE, "")


def test_one_files_revision_is_its_own_hash(tmp_path: Path) -> None:
    folder = a_weights_folder(tmp_path / "a")
    content = (folder / "model.safetensors").read_bytes()
    assert revision_of(folder) == f"sha256:{hashlib.sha256(content).hexdigest()}"


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


def test_parameters_are_the_floating_point_numbers(tmp_path: Path) -> None:
    assert count_parameters(a_weights_folder(tmp_path / "a")) == 100 * 16 + 4 * 4


@pytest.mark.parametrize(
    "content", [b"", b"\xff" * 64, b"\x02\0\0\0\0\0\0\0[]", b"\2\0\0\0\0\0\0\0{"]
)
def test_what_is_no_such_file_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(DamagedFile, match=r"model\.safetensors is not a \.safetensors file"):
        count_parameters(tmp_path)


@pytest.mark.usefixtures("nothing_shown")
def test_a_launcher_may_show_the_folder_elsewhere() -> None:
    assert folder_of(PRETRAINED) == Path("/host/folder")
    show_folder(Path("/weights"))
    assert folder_of(PRETRAINED) == Path("/weights")


@pytest.mark.usefixtures("nothing_shown")
def test_what_comes_from_a_hub_or_a_seed_has_no_folder() -> None:
    show_folder(Path("/weights"))
    assert folder_of(find("bert-tiny")) is None
    hub = PRETRAINED.model_copy(update={"path": None, "hub_id": "somebody/something"})
    assert folder_of(hub) is None


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
    with raises_words(Unavailable, match=reason):
        weights_folder(model)
    (folder / "model.safetensors").unlink()
    with raises_words(Unavailable, match="there are no weights in it"):
        weights_folder(model)
