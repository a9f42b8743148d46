"""This machine: the facts that a plan depends on, and the packages that processes need."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from orchestrator.backends import probes
from orchestrator.backends.catalogue import CATALOGUE, OR_ENGINE, Stack
from orchestrator.backends.machine import others_load, require_stack, this_machine
from orchestrator.backends.probes import X86_INSTRUCTION_SETS, ThisHost
from orchestrator.screen.words.reasons import error_hint, error_text, reason_text
from runner.backends.onnxruntime.qnn.htp import require_possible
from runner.contract.axes import Backend
from runner.contract.cell import Purpose
from runner.contract.errors import Unavailable, how_to_install
from runner.contract.job import DEVICE_VARIABLE
from runner.contract.web import BROWSER_VARIABLE
from tests.support.onnx_graphs import onnx_cell, onnx_job
from tests.support.words import raises_words, words_of

SOFTWARE_IS_NOT_TIMED = (
    "the software adapter's time says nothing about a device: `orchestrator verify`"
)
JOB = onnx_job(onnx_cell(backend="qnn", precision="fp16"))
HERE, LACKING = Stack("pydantic", "get it"), Stack("no_such_package", "get it")


def test_a_job_may_use_less_than_this_machine_has() -> None:
    allowed = this_machine().memory_bytes
    assert allowed is not None
    assert 0 < allowed < psutil.virtual_memory().total


def test_what_no_machine_of_its_kind_has_needs_no_probing() -> None:
    assert this_machine("measure", "darwin", "arm64").unavailable == {}
    lacks = this_machine("measure", "linux", "aarch64", nodes=lambda glob: [glob]).unavailable
    assert [reason.code for reason in lacks.values()] == ["other_system"]


@pytest.mark.parametrize("instruction_set", sorted(X86_INSTRUCTION_SETS))
@pytest.mark.parametrize("purpose", ["measure", "time"])
def test_a_simulator_is_not_timed_and_the_reason_is_the_runners(
    purpose: Purpose, instruction_set: str
) -> None:
    work = JOB.model_copy(update={"purpose": purpose})
    with pytest.raises(Unavailable) as caught:
        require_possible(work, machine=instruction_set)
    reason = this_machine(purpose, "linux", instruction_set).unavailable["qnn"]
    assert reason_text(reason) == error_text(caught.value)


@pytest.mark.parametrize("purpose", ["verify", "prepare"])
def test_a_simulator_shows_what_is_correct(purpose: Purpose) -> None:
    assert "qnn" not in this_machine(purpose, "linux", "x86_64").unavailable


@pytest.mark.parametrize(
    ("purpose", "system", "nodes", "chosen", "left_out"),
    [
        ("measure", "linux", [], "", True),
        ("time", "linux", [], "webgpu=GPU", True),
        ("measure", "linux", [], "webgpu=software", False),
        ("measure", "linux", ["/dev/dri/renderD128"], "", False),
        ("measure", "darwin", [], "", False),
        ("verify", "linux", [], "", False),
    ],
)
def test_a_software_adapter_is_timed_only_if_it_is_chosen(
    purpose: Purpose,
    system: str,
    nodes: list[str],
    chosen: str,
    left_out: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(DEVICE_VARIABLE, chosen)
    machine = this_machine(purpose, system, "x86_64", nodes=lambda glob: nodes)
    reason = machine.unavailable.get("webgpu")
    assert words_of(reason) == (SOFTWARE_IS_NOT_TIMED if left_out else None)


@pytest.mark.parametrize(
    ("backend", "stack", "system"), [("cpu", HERE, "linux"), ("mps", HERE, "darwin")]
)
def test_what_is_installed_is_enough(backend: Backend, stack: Stack, system: str) -> None:
    require_stack(backend, {backend: replace(CATALOGUE[backend], stack=stack)}, system)
    require_stack("fake")  # has no stack


def test_what_is_not_installed_is_named_with_its_remedy() -> None:
    with raises_words(Unavailable, match="no_such_package, which is not installed") as caught:
        require_stack("qnn", {"qnn": replace(CATALOGUE["qnn"], stack=LACKING)})
    assert error_hint(caught.value) == f"get it{OR_ENGINE}"


def installed(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).mkdir(parents=True)
    (folder / "own-browser").touch(0o755)


@pytest.mark.parametrize(
    ("parts", "named", "path", "code"),
    [
        ((), None, None, "onnx_web_missing"),
        (("runtime",), None, None, "browser_missing"),
        (("runtime",), "./nowhere", None, "browser_not_here"),
        (("runtime",), None, "own-browser", None),
        (("runtime",), "./own-browser", None, None),
    ],
)
def test_a_browsers_backends_need_more_than_packages(
    parts: Sequence[str],
    named: str | None,
    path: str | None,
    code: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed(tmp_path, *parts)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("runner.contract.web.RUNTIME_FOLDER", tmp_path / "runtime")
    monkeypatch.setattr("runner.contract.web.OWN_BROWSER", tmp_path / (path or "none"))
    monkeypatch.setattr("runner.contract.web.CHROMIUM", ())
    monkeypatch.setenv(BROWSER_VARIABLE, named or "")
    for backend in ("wasm", "webgpu", "webnn"):
        stack = replace(HERE, lacks=probes.missing_browser)
        catalogue = {**CATALOGUE, backend: replace(CATALOGUE[backend], stack=stack)}
        if code is None:
            require_stack(backend, catalogue)
            continue
        with pytest.raises(Unavailable) as caught:
            require_stack(backend, catalogue)
        assert caught.value.reason.code == code
        assert how_to_install("browser") in str(error_hint(caught.value))


def test_a_backend_of_another_system_is_unavailable_whatever_is_installed() -> None:
    with pytest.raises(Unavailable) as caught:
        require_stack("mps", system="linux")
    assert error_text(caught.value) == "backend mps exists on macOS alone, and this is Linux"
    assert error_hint(caught.value) == "run it on a machine with macOS"


def test_this_host_answers_every_question() -> None:
    host = ThisHost()
    assert host.nodes("/dev/null") == ["/dev/null"]
    assert host.nodes("/dev/no-such-*") == []
    assert host.may_use("/dev/null")
    assert host.group_of("/dev/null")
    assert host.version("pydantic")
    assert host.version("no-such-distribution") is None
    assert host.ask(("no-such-program",)) is None
    assert host.ask(("false",)) is None
    assert host.ask(("echo", "yes")) == "yes"


@pytest.mark.parametrize(
    ("minute", "now", "load"),
    [
        (16.0, "15.2 14.0 11.0 13/512 99", 12.0),
        (2.0, "2.0 1.0 1.0 1/512 99", 0.0),
        (0.1, "0.1 0.1 0.1 9/512 99", 0.1),
        (1.5, "1.5 1.0 1.0 9/512 99", 1.5),
        (3.0, "no kernel of ours", 3.0),
    ],
    ids=["busy", "a run that has ended", "idle", "a peak", "not told"],
)
def test_others_load_is_what_lasts(
    minute: float, now: str, load: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (minute, 0.0, 0.0))
    (tmp_path / "loadavg").write_text(now)
    assert others_load(tmp_path / "loadavg") == load
