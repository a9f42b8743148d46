"""The copies that a real slowdown is measured with."""

import shutil
import subprocess
from pathlib import Path

import pytest

from performance import real_slowdown
from performance.real_slowdown import PATCH, Trial, copied
from runner.contract.files import hash_files


@pytest.fixture(autouse=True)
def few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_slowdown, "_COPIED", ("runner",))


@pytest.mark.skipif(shutil.which("git") is None, reason="git applies the patch")
def test_the_patch_fits_the_runner_and_takes_the_share_that_is_asked_for(tmp_path: Path) -> None:
    text = (copied(tmp_path, 0.05, 1) / "runner/backends/torch/forward.py").read_text()
    assert "SLOWER = 0.05" in text
    compile(text, "forward.py", "exec")
    assert subprocess.run(["git", "apply", "--check", PATCH], check=True).returncode == 0


def test_a_clean_rebuild_is_another_image_that_does_the_same(tmp_path: Path) -> None:
    folders = [copied(tmp_path / str(number), 0.0, number) for number in (0, 1, 2)]
    name = "runner/__init__.py"
    assert len({hash_files({name: folder / name}) for folder in folders}) == 3


@pytest.mark.parametrize(
    ("share", "verdict", "missed"),
    [
        (0.1, "regression", False),
        (0.1, "inconclusive", True),
        (0.1, "no change", True),
        (0.0, "regression", True),
        (0.0, "inconclusive", False),
        (0.0, "no change", False),
    ],
)
def test_what_counts_as_missed(share: float, verdict: str, missed: bool) -> None:
    assert Trial("plain", share, verdict, "", 5, 1.0).is_missed is missed
