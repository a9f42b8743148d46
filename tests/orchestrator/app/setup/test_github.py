"""Entries of `strategy.matrix`: each job once, on its runners, with globs for its cells alone."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from orchestrator.app.setup.github import github_matrix
from orchestrator.matrix import Matrix
from orchestrator.planning.expand import expand
from orchestrator.planning.plan import Plan, make_plan
from orchestrator.planning.schedule import schedule
from runner.contract.cell import Selector
from runner.contract.errors import UsageError
from tests.support.matrices import matrix_of

LABELS = {"cpu": ("self-hosted", "cpu"), "fake": ("ubuntu-latest",)}
WITH_SKIPS: dict[str, Any] = {
    "model": ["bert-tiny", "gpt2", "vit-base"],
    "precision": ["fp32", "fp16"],
    "batch_size": [1, 2],
    "sequence_length": [128, 600],
    "mode": ["inference", "training"],
}
EVERY_SHAPE: dict[str, Any] = {
    "batch_size": [1, 2],
    "sequence_length": [8, 16],
    "new_tokens": [4, 8],
    "mode": ["inference", "generation", "training", "startup"],
    "scenario": ["single_stream", "offline", "server"],
    "target_qps": [0.5, 50, "find_peak"],
    "slo_ms": [10, 20],
}


def entries(plan: Plan) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = github_matrix(plan, LABELS)["include"]  # type: ignore[arg-type]
    return found


def assert_exact(matrix: Matrix, plan: Plan) -> None:
    """Each entry's globs, given to a fresh plan of the whole matrix, select that job's cells."""
    jobs = {job.id: {cell.id for cell in job.cells} for job in schedule(plan, 0)}
    cells = [cell for cell, _ in expand(matrix).cells]
    for entry in entries(plan):
        selector = Selector(entry["select"])
        assert {cell.id for cell in cells if selector.keeps(cell)} == jobs.pop(entry["job"])
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
    matrix = matrix_of(WITH_SKIPS)
    assert_exact(matrix, make_plan(matrix, selector=Selector(globs), limit=limit))


def custom(folder: Path, names: list[str]) -> str:
    """A file of tiny custom models."""
    rest = {"family": "embedding", "size": "tiny", "modality": "text"}
    path = folder / "models.json"
    path.write_text(json.dumps([{"name": name, **rest} for name in names]))
    return str(path)


def globs_of(axes: dict[str, Any]) -> list[list[str]]:
    return [entry["select"] for entry in entries(make_plan(matrix_of(axes)))]


def test_a_job_of_every_scenario_is_one_glob() -> None:
    axes = {"model": "vit-base", "scenario": ["single_stream", "offline", "server"]}
    assert globs_of(axes) == [["cpu-vit-base-fp32-*inference*"]]
    modes = {"model": "gpt2", "backend": "fake", "mode": EVERY_SHAPE["mode"]}
    assert globs_of(modes | {"scenario": "offline"}) == [
        ["fake-gpt2-fp32-b1-s128-startup"],
        ["fake-gpt2-fp32-b*-generation"],
        ["fake-gpt2-fp32-*inference*"],
        ["fake-gpt2-fp32-b*-training"],
    ]


def _some(values: list[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(values), min_size=1, unique=True)


@given(
    _some(["bert-tiny", "vit-base", "gpt2"]),
    _some(["fp32", "int8"]),
    st.fixed_dictionaries({}, optional={axis: _some(v) for axis, v in EVERY_SHAPE.items()}),
    st.none() | st.integers(1, 5),
    st.sampled_from([[], ["*offline"], ["!*-server-*"], ["*-b1-*"]]),
)
def test_every_matrix_is_split_into_its_jobs(
    models: list[str],
    precisions: list[str],
    axes: dict[str, Any],
    limit: int | None,
    globs: list[str],
) -> None:
    named = {"model": models, "backend": "fake", "precision": precisions}
    matrix = matrix_of(named | axes)
    selector = Selector(globs)
    assume(any(selector.keeps(cell) for cell, _ in expand(matrix).cells))
    assert_exact(matrix, make_plan(matrix, selector=selector, limit=limit))


_WORDS = ["m", "fp32", "b", "b1", "s8", "inference", "offline", "server"]
_NAMES = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4).map("-".join)


@given(st.lists(_NAMES, min_size=2, unique=True))
@example(["m", "m-fp32-b1", "m-fp32-b"])
def test_models_named_like_parts_of_ids_do_not_confuse_the_globs(names: list[str]) -> None:
    with TemporaryDirectory() as folder:
        models = custom(Path(folder), names)
        axes = {"model": models, "batch_size": [1, 2]}
        axes["scenario"] = ["single_stream", "offline", "server"]
        matrix = matrix_of(axes | {"mode": ["inference", "startup"], "sequence_length": 8})
    assert_exact(matrix, make_plan(matrix))


def test_several_rounds_are_one_entry_that_takes_longer() -> None:
    once, often = (
        entries(make_plan(matrix_of({"model": "gpt2"}, measure={"rounds": rounds})))
        for rounds in (1, 9)
    )
    assert len(once) == len(often) == 1
    assert often[0]["estimate_minutes"] > once[0]["estimate_minutes"]


@pytest.mark.parametrize("count", [256, 257])
def test_more_jobs_than_github_takes_are_refused(count: int, tmp_path: Path) -> None:
    plan = make_plan(matrix_of({"model": custom(tmp_path, [f"m{i}" for i in range(count)])}))
    if count == 256:
        assert len(entries(plan)) == 256
        return
    with pytest.raises(UsageError, match="the plan has 257 jobs; GitHub takes at most 256"):
        entries(plan)


def test_a_backend_without_runners_is_refused() -> None:
    with pytest.raises(UsageError, match="no runner label is known for backend cpu"):
        github_matrix(make_plan(matrix_of({"model": "gpt2"})), {})
