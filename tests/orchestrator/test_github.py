"""What `strategy.matrix` takes: each job once, on its runners, with globs for its cells alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import MatrixError
from orchestrator.github import github_matrix
from orchestrator.matrix import Matrix
from orchestrator.plan import Plan, make_plan
from orchestrator.schedule import schedule
from orchestrator.selector import Selector
from tests.orchestrator.matrices import matrix_of

LABELS = {"cpu": ("self-hosted", "cpu"), "fake": ("ubuntu-latest",)}
AXES: dict[str, Any] = {
    "model": ["bert-tiny", "gpt2", "vit-base"],
    "precision": ["fp32", "fp16"],
    "batch_size": [1, 2],
    "sequence_length": [128, 600],
    "mode": ["inference", "training"],
}


def entries(plan: Plan) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = github_matrix(plan, LABELS)["include"]  # type: ignore[arg-type]
    return found


def assert_exact(matrix: Matrix, plan: Plan) -> None:
    """Each entry's globs, given to a fresh plan of the whole matrix, select that job's cells."""
    jobs = {job.id: {cell.id for cell in job.cells} for job in schedule(plan, 0)}
    for entry in entries(plan):
        selected = make_plan(matrix, selector=Selector(entry["select"]))
        assert {item.cell.id for item in selected.entries} == jobs.pop(entry["job"])
    assert not jobs


def test_an_entry_says_what_a_workflow_needs() -> None:
    plan = make_plan(matrix_of({"model": "gpt2", "batch_size": [1, 2]}))
    assert json.loads(json.dumps(github_matrix(plan, {"cpu": ["self-hosted"]}))) == {
        "include": [
            {
                "job": "cpu-gpt2-fp32-inference",
                "backend": "cpu",
                "model": "gpt2",
                "precision": "fp32",
                "runs-on": ["self-hosted"],
                "select": ["cpu-gpt2-fp32-b*-inference"],
                "cells": 2,
                "estimate_minutes": 2,
            }
        ]
    }


@pytest.mark.parametrize("limit", [None, 1, 4])
@pytest.mark.parametrize("globs", [[], ["*-b1-*"], ["!*-s600-*"]])
def test_globs_select_a_jobs_cells_and_no_other(limit: int | None, globs: list[str]) -> None:
    matrix = matrix_of(AXES)
    assert_exact(matrix, make_plan(matrix, selector=Selector(globs), limit=limit))


def custom(folder: Path, names: list[str]) -> str:
    """A file of tiny custom models."""
    rest = {"family": "embedding", "size": "tiny", "modality": "text"}
    path = folder / "models.json"
    path.write_text(json.dumps([{"name": name, **rest} for name in names]))
    return str(path)


def test_a_neighbours_name_does_not_confuse_the_globs(tmp_path: Path) -> None:
    models = custom(tmp_path, ["m", "m-fp32-b1", "m-fp32-b"])
    matrix = matrix_of({"model": models, "batch_size": [1, 2]})
    assert_exact(matrix, make_plan(matrix))


@pytest.mark.parametrize("count", [256, 257])
def test_more_jobs_than_github_takes_are_refused(count: int, tmp_path: Path) -> None:
    plan = make_plan(matrix_of({"model": custom(tmp_path, [f"m{i}" for i in range(count)])}))
    if count == 256:
        assert len(entries(plan)) == 256
        return
    with pytest.raises(MatrixError, match="the plan has 257 jobs; GitHub takes at most 256"):
        entries(plan)


def test_a_backend_without_runners_is_refused() -> None:
    with pytest.raises(MatrixError, match="no runner label is known for backend cpu"):
        github_matrix(make_plan(matrix_of({"model": "gpt2"})), {})
