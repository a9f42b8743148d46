"""The trial of browsers: what it prints becomes findings, and how it fails is told."""

import json
import sys
from pathlib import Path

import pytest

from orchestrator.commands.setup import doctor_command
from orchestrator.commands.setup.doctor_command import BrowserFinding, try_browsers
from runner.contract.errors import BenchError
from tests.support.needs import lacking
from tests.support.words import raises_words

WASM = BrowserFinding("our own", "/b/chromium", "153", "wasm", True, "AMD EPYC")
FIREFOX = BrowserFinding("firefox", "/usr/bin/firefox", None, None, False, "not driven: …")


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_command, "require_stack", lambda backend: None)


def a_trial(folder: Path, script: str) -> str:
    """An interpreter that does this, whatever it is asked."""
    path = folder / "python"
    path.write_text(f"#!{sys.executable}\nimport sys\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_each_line_is_a_finding(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(vars(one)) for one in (WASM, FIREFOX))
    assert try_browsers(a_trial(tmp_path, f"print({lines!r})")) == [WASM, FIREFOX]


@pytest.mark.parametrize(
    ("script", "patience_s", "message"),
    [
        ("sys.exit('boom')", 60, "the trial of browsers failed: boom"),
        ("import time; time.sleep(60)", 0.2, "did not end within 0.2 s"),
    ],
)
def test_a_trial_that_fails_says_why(
    script: str, patience_s: float, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor_command, "TRIAL_S", patience_s)
    with raises_words(BenchError, match=message):
        try_browsers(a_trial(tmp_path, script))


@pytest.mark.nightly
def test_our_own_browser_has_all_three_and_each_other_its_own_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    browser = pytest.importorskip("runner.backends.onnxruntime_web.browser")
    if not browser.OWN_BROWSER.is_file():
        lacking("no browser: `make browser`")
    for name, script in (("microsoft-edge", "exit 3"), ("firefox", "exit 0")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = {(one.browser, one.backend): one for one in try_browsers()}
    assert all(found["our own", backend].works for backend in ("wasm", "webgpu", "webnn"))
    assert "the browser microsoft-edge does not start" in found["edge", "wasm"].message
    assert found["firefox", None].message.startswith("not driven")
