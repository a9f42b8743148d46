"""Starts whose runtime executes in a browser."""

from pathlib import Path

import psutil
import pytest

from runner.contract.job import Job
from runner.modes.startup.child import StartRequest
from runner.modes.startup.launch import launch_start
from tests.support.jobs import a_job
from tests.support.prepared import PreparedGraphs
from tests.support.tiny_models import tiny_decoder, torch_cell


@pytest.fixture(scope="module")
def job(prepared: PreparedGraphs) -> Job:
    model = tiny_decoder()
    cell = torch_cell(model, 1, runtime="onnxruntime_web", backend="wasm", mode="startup")
    return prepared.named(a_job([cell], model))


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.parametrize("query", [True, False], ids=["query", "held"])
def test_a_browser_starts_in_stages_and_ends_with_its_start(
    job: Job, prepared: PreparedGraphs, query: bool
) -> None:
    request = StartRequest(job=job, threads=1, graphs=prepared.folder, query=query, files=True)
    others = set(psutil.Process().children(recursive=True))
    with launch_start(request) as pending:
        start = pending.wait()
        held = set(psutil.Process().children(recursive=True)) - others
    assert all(value > 0 for name, value in start.stages_ns.items() if name != "first_query")
    assert (start.stages_ns["first_query"] > 0) == query
    assert start.runner_ns > 0
    assert {Path(path).name for path in start.report.files} >= {"chromium", "page.mjs"}
    assert start.report.peak_bytes is not None
    assert start.report.peak_bytes > 100e6
    assert len(held) > 3 or query
    assert not any(process.is_running() for process in held)
