"""Faults of a real browser: each has its status and its words, and leaves nothing behind."""

import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

import onnx
import psutil
import pytest
from onnx import TensorProto, helper
from playwright.sync_api import Error

from orchestrator.launchers.process import ProcessLauncher
from orchestrator.screen.words.reasons import error_text
from orchestrator.store.records.validate import read_record
from runner.backends.onnxruntime_web.browser import (
    StartedBrowser,
    find_browser,
    is_alive,
    started_browser,
)
from runner.backends.onnxruntime_web.page import PageError, PageLimits, PageServer, WebPage
from runner.backends.onnxruntime_web.query import PageQuery, graph_refusal
from runner.contract.axes import Backend
from runner.contract.errors import BenchError, TimedOut, Unavailable, Unsupported
from runner.contract.job import DEVICE_VARIABLE, Job, Limits
from runner.contract.record.record import Record
from runner.contract.record.verdict import Phase, Status
from runner.contract.web import RUNTIME_FOLDER
from runner.job.harness import Harness
from tests.support.fakes import KeptProgress
from tests.support.jobs import a_task
from tests.support.needs import lacking
from tests.support.onnx_graphs import FLOAT, WIDTH, layer, model_of, onnx_cell, onnx_job, save_graph
from tests.support.siblings import siblings
from tests.support.words import doubt_words, raises_words, words_of
from tests.support.workplace import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.serial]

Kind = Literal["browser", "renderer", "gpu-process"]
SECONDS = 1.5
PATIENCE = 90
"""That of one which ends by itself, so that a busy machine has the time to notice it."""
HANG = "() => { window.runner.hang = () => new Promise(() => {}); }"
SPIN = "() => { window.runner.hang = () => { for (;;); }; }"
DEVICE = "(async () => (await navigator.gpu.requestAdapter()).requestDevice())()"


struck: list[psutil.Process] = []


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of temporary files, in which nothing stays, nor any browser that uses it."""
    try:
        find_browser()
    except Unavailable as error:
        lacking(str(error))
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setenv(DEVICE_VARIABLE, "webgpu=software")
    struck.clear()
    yield folder
    wait_until(lambda: not browsers(folder), "the end of the browser")
    wait_until(lambda: not any(map(is_alive, struck)), "the end of its processes")
    assert list(folder.iterdir()) == []


def browsers(folder: Path) -> list[psutil.Process]:
    """The first process of each browser whose profile lies in the folder."""
    ours, first = f"--user-data-dir={folder}", dict[int, psutil.Process]()
    for one in psutil.process_iter(["cmdline", "ppid"]):
        words = one.info["cmdline"] or []
        is_typed = any(word.startswith("--type=") for word in words)
        if any(word.startswith(ours) for word in words) and not is_typed:
            first[one.pid] = one
    # A process that was just forked still has its parent's command line.
    return [one for one in first.values() if one.info["ppid"] not in first]


def strike(folder: Path, kind: Kind, how: signal.Signals) -> None:
    """Send a signal to the processes of that kind: one renderer of several may be a spare one."""
    (browser,) = browsers(folder)
    children = browser.children(recursive=True)
    struck.extend([browser, *children])
    for process in [browser] if kind == "browser" else children:
        with suppress(psutil.NoSuchProcess):  # a process that the browser ended meanwhile
            if kind == "browser" or f"--type={kind}" in process.cmdline():
                process.send_signal(how)


@pytest.mark.parametrize(
    ("script", "kind", "how", "error", "words"),
    siblings(
        [
            (HANG, None, None, TimedOut, r"hang: the page did not answer within 1\.5 s"),
            (SPIN, None, None, TimedOut, r"hang: the page did not answer within 1\.5 s"),
            (HANG, "renderer", signal.SIGSTOP, TimedOut, "did not answer"),
            (HANG, "browser", signal.SIGSTOP, TimedOut, "did not answer"),
            (HANG, "renderer", signal.SIGKILL, BenchError, "the page ended: .*crashed"),
            (HANG, "browser", signal.SIGKILL, BenchError, "the page ended: .*(closed|has ended)"),
            (HANG, "gpu-process", signal.SIGKILL, BenchError, "ended: the GPU device was lost"),
        ],
        keep=[
            (HANG, "browser", signal.SIGKILL, BenchError, "the page ended: .*(closed|has ended)")
        ],
    ),
)
def test_a_call_ends_whatever_happens_to_the_page(
    temporary: Path,
    script: str,
    kind: Kind | None,
    how: signal.Signals,
    error: type[BenchError],
    words: str,
) -> None:
    backend: Backend = "webgpu" if kind == "gpu-process" else "wasm"
    with started_browser(backend, software=backend == "webgpu") as browser:
        limit = SECONDS if error is TimedOut else PATIENCE
        page = WebPage(browser, backend, 1, limits=PageLimits(answer_s=limit))
        with closing(page):
            page._page.evaluate(script)
            if backend == "webgpu":
                page._page.evaluate(f"{DEVICE}.then(() => null)")
            if kind and error is TimedOut:  # which it is whenever the fault happens
                strike(temporary, kind, how)
            elif kind:
                threading.Timer(0.1, strike, (temporary, kind, how)).start()
            began = time.monotonic()
            with raises_words(error, match=words):
                page.call("hang")
            assert page.has_ended
            assert time.monotonic() - began < PATIENCE


def test_a_death_that_the_driver_does_not_tell_is_seen_at_the_limit(temporary: Path) -> None:
    def never_answered(browser: StartedBrowser) -> None:
        with browser.within(0.01, "hang"):
            time.sleep(0.5)
            raise Error("no answer")

    with started_browser("wasm", software=False) as browser:
        strike(temporary, "browser", signal.SIGKILL)
        wait_until(lambda: not is_alive(browser.process), "the end of the browser")
        with raises_words(BenchError, match=r"the page ended: hang: the browser has ended"):
            never_answered(browser)


@pytest.mark.nightly
def test_a_page_that_never_loads_is_given_up(temporary: Path) -> None:
    limits = PageLimits(start_s=0.01)
    with (
        started_browser("wasm", software=False) as browser,
        raises_words(TimedOut, match=r"^loading the page: "),
    ):
        WebPage(browser, "wasm", 1, limits=limits)


def test_a_page_without_isolation_is_refused(temporary: Path) -> None:
    open_server = PageServer(RUNTIME_FOLDER, headers={})
    with started_browser("wasm", software=False) as browser:  # noqa: SIM117
        with raises_words(Unavailable, match="does not isolate the page"):
            WebPage(browser, "wasm", 2, server=open_server)


class StrikingProgress(KeptProgress):
    def __init__(self, folder: Path, kind: Kind, how: signal.Signals) -> None:
        super().__init__()
        self._fault = (folder, kind, how)
        self._has_struck = False

    def phase(self, phase: Phase, cell_id: str | None = None) -> None:
        super().phase(phase, cell_id)
        if phase == "steady" and not self._has_struck:
            self._has_struck = True
            strike(*self._fault)


def web_job(backend: Backend = "wasm", **limits: float) -> Job:
    cells = [onnx_cell(size, backend=backend, runtime="onnxruntime_web") for size in (1, 3)]
    return onnx_job(*cells, limits=Limits(**limits))


def records(job: Job, folder: Path, progress: KeptProgress, graph: onnx.ModelProto) -> list[Record]:
    save_graph(folder, {"forward": graph})
    out = folder / "out"
    out.mkdir()
    Harness(job, out, progress, graphs=folder).run()
    return [read_record(out / f"{cell.id}.parquet") for cell in job.cells]


@pytest.mark.parametrize(
    ("backend", "kind", "how", "status", "reason"),
    [
        ("wasm", "renderer", signal.SIGKILL, "failed", "the page ended"),
        pytest.param(
            *("wasm", "browser", signal.SIGKILL, "failed", "the page ended"),
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            *("webgpu", "gpu-process", signal.SIGKILL, "failed", "the GPU device was lost"),
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            *("wasm", "renderer", signal.SIGSTOP, "timeout", "did not answer within 9 s"),
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_the_cell_gets_its_verdict_and_the_next_one_a_fresh_browser(
    temporary: Path,
    tmp_path: Path,
    backend: Backend,
    kind: Kind,
    how: signal.Signals,
    status: Status,
    reason: str,
) -> None:
    job = web_job(backend, cell_timeout_s=10)
    progress = StrikingProgress(temporary, kind, how)
    first, other = records(job, tmp_path, progress, layer())
    assert (first.status, first.phase) == (status, "steady"), words_of(first.ending)
    assert reason in (words_of(first.ending) or "")
    assert (other.status, words_of(other.ending)) == ("ok", None)


@pytest.mark.nightly
def test_what_ended_before_the_page_fell_silent_is_kept(
    temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = PageQuery._slice

    def silenced(
        query: PageQuery, wanted: Mapping[str, float], ended_ns: Sequence[int]
    ) -> list[float]:
        if ended_ns:
            strike(temporary, "renderer", signal.SIGSTOP)
        return original(query, wanted, ended_ns)

    monkeypatch.setattr(PageQuery, "_slice", silenced)
    monkeypatch.setattr(f"{PageQuery.__module__}.SILENT_AFTER_S", 1)
    job = web_job(cell_timeout_s=120)
    measure = job.measure.model_copy(update={"min_s": 60, "max_s": 60})
    job = job.model_copy(update={"cells": job.cells[:1], "measure": measure})
    (record,) = records(job, tmp_path, KeptProgress(), layer())
    assert (record.status, words_of(record.ending), record.grade) == ("ok", None, "D")
    assert 0 < sum(record.durations_ns or ()) < 60 * 10**9
    assert doubt_words(vars(record))[0].startswith("the iterations ended early: series: ")
    assert (record.proof, record.memory_peak_bytes) == ("proven", None)


def test_a_slow_cell_ends_at_its_duration_with_data_and_a_grade(
    temporary: Path, tmp_path: Path
) -> None:
    job = web_job()
    measure = job.measure.model_copy(update={"max_s": 0.005})
    job = job.model_copy(update={"cells": job.cells[:1], "measure": measure})
    (record,) = records(job, tmp_path, KeptProgress(), endless_layer())
    assert (record.status, words_of(record.ending)) == ("ok", None)
    assert record.latency_median_s is not None
    assert record.latency_median_s > measure.max_s
    assert len(record.durations_ns or ()) == 1
    assert record.grade == "D"


def endless_layer(turns: int = 20_000) -> onnx.ModelProto:
    """A layer that is executed so often that one query takes 20 ms or more."""
    info = helper.make_tensor_value_info
    turn = info("turn", TensorProto.INT64, ())
    more, on = (info(name, TensorProto.BOOL, ()) for name in ("more", "on"))
    before, after = (info(name, FLOAT, ("n", WIDTH)) for name in ("before", "after"))
    x, logits = (info(name, FLOAT, ("n", WIDTH)) for name in ("x", "logits"))
    nodes = [
        helper.make_node("Identity", ["more"], ["on"]),
        helper.make_node("Tanh", ["before"], ["after"]),
    ]
    body = helper.make_graph(nodes, "turn", [turn, more, before], [on, after])
    loop = helper.make_node("Loop", ["turns", "always", "x"], ["logits"], body=body)
    constants = [
        helper.make_tensor("turns", TensorProto.INT64, (), [turns]),
        helper.make_tensor("always", TensorProto.BOOL, (), [True]),
    ]
    return model_of(helper.make_graph([loop], "endless", [x], [logits], constants))


@pytest.mark.nightly
def test_a_session_that_webnn_takes_in_parts_and_never_ends_is_refused(temporary: Path) -> None:
    logged = "number of nodes in the graph: 4 number of nodes supported by WebNN: 3"
    stuck = f"{{ create: () => (console.warn('{logged}'), new Promise(() => {{}})) }}"
    script = (
        "import('./sessions.mjs').then("
        f"({{ createSession }}) => createSession({{ InferenceSession: {stuck} }}))"
    )
    with started_browser("wasm", software=False) as browser:
        page = WebPage(browser, "wasm", 1)
        with closing(page):
            with pytest.raises(PageError) as refused:
                page._ask("open", lambda: page._page.evaluate(script), PATIENCE)
            error = graph_refusal("webnn", refused.value)
            assert isinstance(error, Unsupported)
            assert error_text(error) == (
                "webnn refuses the graph: WebNN takes 3 of 4 nodes,"
                " and no other provider may take the rest"
            )
            assert page.has_ended


@pytest.mark.representatives(1)
@pytest.mark.parametrize("target", ["runner", "launch"])
def test_nothing_outlives_a_launch(temporary: Path, tmp_path: Path, target: str) -> None:
    save_graph(tmp_path / "graphs", {"forward": layer()})
    task = replace(a_task(tmp_path, web_job()), graphs=tmp_path / "graphs")
    with ProcessLauncher().launch(task) as execution:
        assert any('"steady"' in line for line in iter(execution.lines.get, None))
        if target == "runner":
            os.kill(execution._process.pid, signal.SIGKILL)
            assert execution.wait().code == -signal.SIGKILL
