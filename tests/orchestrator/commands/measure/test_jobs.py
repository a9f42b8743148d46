"""A plan as the jobs of a pipeline: exact, comparable on one runner, about equally long."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from orchestrator.commands.measure.pipelines.files import github_matrix
from orchestrator.commands.measure.pipelines.jobs import (
    MAX_JOBS,
    RUNNER_LABELS,
    PipelineJob,
    Share,
    balanced,
    parse_runner_labels,
    pipeline_jobs,
    share_of_models,
    shared_groups,
)
from orchestrator.matrix import Matrix
from orchestrator.planning.expand import expand
from orchestrator.planning.plan import Plan, make_plan, schedule, side_by_side
from orchestrator.system.selector import Selector
from runner.contract.errors import UsageError
from tests.support.matrices import matrix_of

SECONDS = st.lists(st.floats(0.1, 1e4), min_size=1, max_size=40)


@given(SECONDS, st.integers(1, 8))
def test_every_work_is_in_one_group_and_none_is_much_longer(
    seconds: list[float], groups: int
) -> None:
    found = balanced(seconds, groups)
    assert sorted(index for group in found for index in group) == [*range(len(seconds))]
    longest = max(sum(seconds[index] for index in group) for group in found)
    bound = max(sum(seconds) / groups, *seconds)
    assert longest <= (2 - 1 / groups) * bound * (1 + 1e-9)
    if len(seconds) >= groups:
        assert all(found)


@given(st.dictionaries(st.text(max_size=3), SECONDS, min_size=1, max_size=6), st.integers(6, 30))
def test_each_key_has_a_group_and_none_has_more_than_its_work(
    seconds: dict[str, list[float]], most: int
) -> None:
    groups = shared_groups(seconds, most)
    assert all(1 <= groups[key] <= len(work) for key, work in seconds.items())
    assert sum(groups.values()) == min(most, sum(map(len, seconds.values())))


def test_longer_work_gets_more_groups() -> None:
    assert shared_groups({"slow": [60.0] * 9, "fast": [1.0] * 9}, 8) == {"slow": 7, "fast": 1}


LABELS = {"cpu": ("self-hosted", "cpu"), "fake": ("ubuntu-latest",)}
WIDE = ["fp32", "bf16"]
EVERY_SHAPE: dict[str, Any] = {
    "batch_size": [1, 2],
    "sequence_length": [8, 16],
    "new_tokens": [4, 8],
    "mode": ["inference", "generation", "training", "startup"],
    "scenario": ["single_stream", "offline", "server"],
    "target_qps": [0.5, 50, "find_peak"],
    "slo_ms": [10, 20],
}


def jobs_of(plan: Plan, most: int = MAX_JOBS, **labels: Any) -> list[PipelineJob]:
    return pipeline_jobs(plan, LABELS | labels, most)  # type: ignore[arg-type]


def assert_exact(matrix: Matrix, plan: Plan, most: int = MAX_JOBS) -> None:
    """The globs, given to a fresh plan of the whole matrix, select each cell that runs once."""
    jobs_due = [job for unit in schedule(plan, 0) for job in unit if job.round == 1]
    due = sorted(cell.id for job in jobs_due for cell in job.cells)
    cells = [cell for cell, _ in expand(matrix).cells]
    jobs = jobs_of(plan, most)
    selected = [[cell for cell in cells if Selector(job.select).keeps(cell)] for job in jobs]
    assert sorted(cell.id for kept in selected for cell in kept) == due
    assert [len(kept) for kept in selected] == [job.cells for job in jobs]
    assert len({job.name for job in jobs}) == len(jobs) <= most
    for model in {cell.model for kept in selected for cell in kept}:
        assert sum(any(cell.model == model for cell in kept) for kept in selected) == 1


def test_an_entry_says_what_a_workflow_needs() -> None:
    plan = make_plan(matrix_of({"model": "gpt2", "batch_size": [1, 2], "precision": WIDE}))
    (entry,) = json.loads(json.dumps(github_matrix(jobs_of(plan))))["include"]
    minutes = entry.pop("estimate_minutes")
    assert entry.pop("timeout-minutes") == 30 + 3 * minutes
    assert entry == {
        "job": "cpu-gpt2",
        "backends": ["cpu"],
        "runs-on": ["self-hosted", "cpu"],
        "launcher": "docker",
        "extras": "",
        "select": ["cpu-gpt2-bf16-b*-inference", "cpu-gpt2-fp32-b*-inference"],
        "cells": 4,
    }


def test_a_device_that_containers_cannot_reach_is_measured_by_processes() -> None:
    axes = {"model": "bert-tiny", "backend": ["mps", "cpu"]}
    by_backend = {job.backends: job for job in jobs_of(make_plan(matrix_of(axes)), mps=["mac"])}
    assert by_backend["mps",].runner == (("mac",), "process")
    assert by_backend["mps",].extras == ("cpu",)
    assert by_backend["cpu",].runner.launcher == "docker"


def test_backends_of_the_same_runner_are_compared_on_it() -> None:
    plan = make_plan(matrix_of({"model": ["bert-tiny", "gpt2"], "backend": ["cpu", "openvino"]}))
    assert [job.name for job in jobs_of(plan, openvino=["self-hosted", "intel"])] == [
        "cpu-bert-tiny",
        "cpu-gpt2",
        "openvino-bert-tiny",
        "openvino-gpt2",
    ]
    together = jobs_of(plan, openvino=LABELS["cpu"])
    assert [job.name for job in together] == ["cpu+openvino-bert-tiny", "cpu+openvino-gpt2"]


def custom(folder: Path, names: list[str]) -> str:
    """A file of tiny custom models."""
    rest = {"family": "embedding", "size": "tiny", "modality": "text"}
    path = folder / "models.json"
    path.write_text(json.dumps([{"name": name, **rest} for name in names]))
    return str(path)


def globs_of(axes: dict[str, Any]) -> list[list[str]]:
    return [list(job.select) for job in jobs_of(make_plan(matrix_of(axes)))]


def test_a_job_of_every_scenario_is_one_glob() -> None:
    axes = {"model": "vit-base", "scenario": ["single_stream", "offline", "server"]}
    assert globs_of(axes) == [["cpu-vit-base-fp32-*inference*"]]
    modes = {"model": "gpt2", "backend": "fake", "mode": EVERY_SHAPE["mode"]}
    (globs,) = globs_of(modes | {"scenario": "offline"})
    assert sorted(globs) == [
        "fake-gpt2-fp32-*inference*",
        "fake-gpt2-fp32-b*-generation",
        "fake-gpt2-fp32-b*-training",
        "fake-gpt2-fp32-b1-s128-startup",
    ]


def _some(values: list[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(values), min_size=1, unique=True)


@given(
    _some(["bert-tiny", "vit-base", "gpt2"]),
    _some(["fp32", "int8"]),
    st.fixed_dictionaries({}, optional={axis: _some(v) for axis, v in EVERY_SHAPE.items()}),
    st.none() | st.integers(1, 5),
    st.sampled_from([[], ["*offline"], ["!*-server-*"], ["*-b1-*"]]),
    st.integers(1, 5),
)
def test_every_matrix_is_split_into_its_jobs(
    models: list[str],
    precisions: list[str],
    axes: dict[str, Any],
    limit: int | None,
    globs: list[str],
    most: int,
) -> None:
    named = {"model": models, "backend": "fake", "precision": precisions}
    matrix = matrix_of(named | axes)
    selector = Selector(globs)
    assume(any(selector.keeps(cell) for cell, _ in expand(matrix).cells))
    assert_exact(matrix, make_plan(matrix, selector=selector, limit=limit), most)


_WORDS = ["m", "fp32", "b", "b1", "s8", "inference", "offline", "server"]
_NAMES = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4).map("-".join)


@pytest.mark.slow
@given(st.lists(_NAMES, min_size=2, unique=True))
@example(["m", "m-fp32-b1", "m-fp32-b"])
def test_models_named_like_parts_of_ids_do_not_confuse_the_globs(names: list[str]) -> None:
    with TemporaryDirectory() as folder:
        axes = {"model": custom(Path(folder), names), "batch_size": [1, 2]}
        axes["scenario"] = ["single_stream", "offline", "server"]
        matrix = matrix_of(axes | {"mode": ["inference", "startup"], "sequence_length": 8})
    assert_exact(matrix, make_plan(matrix))


@pytest.mark.parametrize(("models", "most", "jobs"), [(257, 256, 256), (9, 4, 4)])
def test_more_models_than_jobs_share_them(
    models: int, most: int, jobs: int, tmp_path: Path
) -> None:
    names = [f"m{number}" for number in range(models)]
    found = jobs_of(make_plan(matrix_of({"model": custom(tmp_path, names)})), most)
    assert len(found) == jobs
    assert sum(job.cells for job in found) == models
    seconds = sorted(job.estimate_s for job in found)
    assert seconds[-1] <= 3 * seconds[0]
    if models > most:
        assert found[0].name == f"cpu-001-of-{most:03}"


def test_the_set_key_on_four_backends_fits_into_one_matrix_of_github() -> None:
    backends = ["cpu", "openvino", "cuda", "rocm"]
    axes = {"model": "key", "backend": backends, "batch_size": [1, 2, 4, 8, 16, 32]}
    plan = make_plan(matrix_of(axes | {"precision": ["fp32", "fp16", "bf16", "int8"]}))
    found = pipeline_jobs(plan, RUNNER_LABELS, MAX_JOBS)
    assert len(backends) < len(found) <= MAX_JOBS


@pytest.mark.parametrize(
    ("labels", "most", "words"),
    [
        ({"cpu": []}, 256, "no runner label is known for backend cpu"),
        ({"openvino": ["intel"]}, 1, "needs 2 kinds of runners, and 1 jobs are allowed"),
        ({}, 257, "--max-jobs: 257 is more than 256"),
    ],
)
def test_what_a_pipeline_cannot_run_is_refused(
    labels: dict[str, Any], most: int, words: str
) -> None:
    plan = make_plan(matrix_of({"model": "bert-tiny", "backend": ["cpu", "openvino"]}))
    with pytest.raises(UsageError, match=words):
        jobs_of(plan, most, **labels)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cpu", "'cpu' is not BACKEND=LABEL,LABEL"),
        ("cpy=a", "backend 'cpy' is unknown; did you mean cpu?"),
    ],
)
def test_other_texts_are_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("?", r"\?")):
        parse_runner_labels([text])


@pytest.mark.parametrize(
    ("together", "names"),
    [
        (True, ["cpu-bert-tiny", "cpu-vit-base"]),
        ("auto", ["cpu-bert-tiny", "cpu-gpt2", "cpu-vit-base"]),
    ],
)
def test_models_that_are_measured_side_by_side_share_a_job(
    together: bool | str, names: list[str]
) -> None:
    axes = {"model": ["gpt2", "vit-base", "bert-tiny"], "runtime": ["torch", "onnxruntime"]}
    plan = make_plan(matrix_of(axes, measure={"profile": "quick", "side_by_side": together}))
    grouped = side_by_side(plan, [([entry.cell for entry in plan.entries], None)])
    found = jobs_of(grouped)
    assert [job.name for job in found] == names
    assert sum(job.cells for job in found) == len(plan.entries)
    alone = sum(job.estimate_s for job in jobs_of(plan))
    assert sum(job.estimate_s for job in found) > alone
    assert all(" " not in glob for job in found for glob in job.select)


@given(st.text(min_size=1), st.integers(1, 60))
def test_each_model_is_in_one_share(model: str, shares: int) -> None:
    keeping = [number for number in range(1, shares + 1) if Share(number, shares).keeps(model)]
    assert len(keeping) == 1


def test_the_shares_of_a_plan_are_the_plan() -> None:
    models = ["bert-tiny", "gpt2", "vit-base", "t5-small", "opt-125m"]
    plan = make_plan(matrix_of({"model": models, "batch_size": [1, 2]}))
    labels = {"cpu": ["cpu"]}
    whole = {job.name: job.cells for job in pipeline_jobs(plan, labels, 256)}
    parts = [pipeline_jobs(plan, labels, 256, Share(number, 3)) for number in (1, 2, 3)]
    assert {job.name: job.cells for part in parts for job in part} == whole
    assert sum(map(len, parts)) == len(models)


@pytest.mark.parametrize("text", ["", "3", "0/7", "8/7", "a/b", "1/0", "1/2/3", "-1/2", "1 / 2"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not NUMBER/SHARES"):
        share_of_models(text)
