"""Weights are known by what their files hold, not by where they lie."""

from pathlib import Path

import pytest

from orchestrator.system.weights import count_parameters, revision_of, weight_files
from runner.contract.errors import DamagedFile
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
