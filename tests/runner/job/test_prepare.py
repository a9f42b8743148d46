"""A job that prepares graphs leaves them, or the reason, where sessions look."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from orchestrator.screen.words.reasons import error_text
from runner.contract.artifact_keys import COUNTS, GRAPHS, fingerprint, graph_key
from runner.contract.errors import Unsupported
from runner.contract.graph import EXPORTERS, find_graph
from runner.contract.job import Job
from runner.contract.models import ModelSpec, find
from runner.contract.models.counted import COUNTS_FILE, CountedWork, read_counted
from runner.contract.models.work import catalogued_polynomials
from runner.job.prepare import count_model, prepare_graphs
from runner.measure.clock import monotonic
from tests.runner.test_main import start
from tests.support.exports import graph_cell, names, tiny_vision
from tests.support.fakes import KeptProgress
from tests.support.jobs import a_job
from tests.support.tiny_models import torch_cell
from tests.support.words import words_of

HERE = GRAPHS.versions(GRAPHS.installed())


def job(made_by: Mapping[str, str] = HERE, **changes: object) -> Job:
    """A job that prepares a graph made by these versions, by default those that are here."""
    key = graph_key(tiny_vision(), "forward", "fp32", 0, made_by)
    update = {"purpose": "prepare", "graph": key, **changes}
    return a_job([graph_cell()], tiny_vision()).model_copy(update=update)


def reason(job: Job, out: Path) -> str:
    """The reason that a session gives for having no graph."""
    prepare_graphs(job, out, KeptProgress(), monotonic)
    with pytest.raises(Unsupported) as caught:
        find_graph(job, job.cells[0], out)
    return error_text(caught.value)


@pytest.mark.parametrize(
    ("made_by", "seed", "named", "here"),
    [
        ({"torch": "1.0.0"}, 0, "torch1.0.0", "produces text_generation-forward-fp32-"),
        ({"runner": "00000000"}, 0, "-runner00000000-", f"-runner{HERE['runner']}-"),
        ({}, 1, "", "this environment produces"),
    ],
    ids=["versions", "code", "seed"],
)
def test_what_differs_from_the_name_is_the_reason(
    tmp_path: Path, made_by: dict[str, str], seed: int, named: str, here: str
) -> None:
    message = reason(job({**HERE, **made_by}, weights_seed=seed), tmp_path)
    assert named in message
    assert here in message


@pytest.mark.slow
def test_a_process_leaves_the_graph_and_a_clean_stdout(tmp_path: Path) -> None:
    process = start(job(), tmp_path)
    stdout, stderr = process.communicate()
    assert process.returncode == 0, stderr
    assert [line for line in stdout.splitlines() if '"event": "phase"' not in line] == []
    assert "[torch.onnx]" in stderr
    graph, folder = find_graph(job(), job().cells[0], tmp_path)
    assert (graph.remedy, folder.name) == ("dynamic shapes", "dynamic")
    assert graph.versions.keys() == set(EXPORTERS)
    assert list(names(folder)) == ["forward.onnx", "forward.onnx.data", "graph.json"]


def counted(model: ModelSpec, out: Path) -> CountedWork:
    job: Job = a_job([torch_cell(model)], model).model_copy(update={"purpose": "count"})
    progress = KeptProgress()
    count_model(job, out, progress)
    assert [event["phase"] for event in progress.events] == ["load"]
    assert [path.name for path in out.iterdir()] == [COUNTS_FILE]
    return read_counted(out / COUNTS_FILE, model, fingerprint(COUNTS))


def test_it_finds_what_the_catalogue_holds(tmp_path: Path) -> None:
    model = find("bert-micro")
    polynomials = counted(model, tmp_path).polynomials
    assert polynomials.pop("parameters") == {"": model.parameters}
    assert polynomials == catalogued_polynomials(model)


def test_what_cannot_be_built_has_a_reason(tmp_path: Path) -> None:
    odd = find("bert-micro").model_copy(update={"architecture": "NoSuchModel"})
    left = counted(odd, tmp_path)
    assert left.polynomials == {}
    assert str(words_of(left.reason)).startswith("transformers cannot build bert-micro")
