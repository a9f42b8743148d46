"""The copies that a real slowdown is measured with, and what is kept of its trials."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from performance.real_slowdown import variants
from performance.slowdowns.baseline import CANDIDATES, cv_of
from performance.slowdowns.copies import PATCH, copied
from performance.slowdowns.trials import Ledger, Trial, TrialFailed, Variant
from runner.contract.files import hash_files

FEW = ("runner",)
"""The folders that these copies need."""


def a_trial(verdict: str, share: float = 0.1) -> Trial:
    return Trial(Variant("plain", share, 1), "a-cell", verdict, "", 5, 1.0)


@pytest.mark.skipif(shutil.which("git") is None, reason="git applies the patch")
def test_the_patch_fits_the_runner_and_takes_the_share_that_is_asked_for(tmp_path: Path) -> None:
    text = (copied(tmp_path, 0.05, names=FEW) / "runner/backends/torch/forward.py").read_text()
    assert "SLOWER = 0.05" in text
    compile(text, "forward.py", "exec")
    assert subprocess.run(["git", "apply", "--check", PATCH], check=True).returncode == 0


def test_a_clean_rebuild_is_another_image_that_does_the_same(tmp_path: Path) -> None:
    folders = [copied(tmp_path / str(number), 0.0, number, FEW) for number in (0, 1, 2)]
    name = "runner/__init__.py"
    assert len({hash_files({name: folder / name}) for folder in folders}) == 3


def test_each_clean_rebuild_is_an_image_of_its_own_and_each_share_is_one() -> None:
    trials = list(variants(("plain", "interleaved"), 5))
    assert len(trials) == 20
    assert {trial.copy for trial in trials if trial.share} == {"slower-10", "slower-5"}
    assert len({trial.copy for trial in trials if not trial.share}) == 5


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
    assert a_trial(verdict, share).is_missed is missed


def test_trials_are_kept_for_the_same_runner_alone(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "new" / "trials.json")
    assert ledger.read() == []
    trials = [a_trial("regression"), a_trial("no change", 0.0)]
    ledger.write(trials)
    assert ledger.read() == trials
    document = json.loads(ledger.path.read_text())
    ledger.path.write_text(json.dumps(document | {"runner": "sha256:another"}))
    with pytest.raises(TrialFailed, match="of another version of the runner"):
        ledger.read()


def test_fewer_than_eight_launches_tell_no_coefficient_of_variation() -> None:
    assert cv_of([1.0] * 7) == float("inf")
    assert cv_of([1.0, 1.02] * 4) == pytest.approx(0.01058, abs=1e-5)


def test_a_candidate_is_one_cell() -> None:
    assert not [words for words in CANDIDATES.values() if any("," in word for word in words)]
