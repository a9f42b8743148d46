"""The example matrix of browsers, and the command in its head."""

import re
import shlex
from pathlib import Path

import pytest

from orchestrator.matrix import load_matrix
from orchestrator.planning.plan import make_plan
from tests.conftest import ROOT
from tests.support.needs import lacking
from tests.support.workplace import Workplace

EXAMPLE = ROOT / "docs/examples/browser.yaml"


def commands() -> list[list[str]]:
    """The commands that its head names, as words."""
    lines = re.findall(r"^#   (.+)", EXAMPLE.read_text("utf-8"), re.MULTILINE)
    return [shlex.split(line) for line in lines]


def test_it_plans_four_architectures_and_a_decoder_on_both_backends() -> None:
    entries = make_plan(load_matrix(EXAMPLE)).entries
    assert all(entry.decision == "run" for entry in entries)
    cells = {(one.cell.mode, one.cell.backend, one.cell.model) for one in entries}
    models = ("bert-tiny", "vit-tiny", "whisper-tiny", "t5-efficient-tiny")
    assert cells == {
        *(("inference", backend, model) for backend in ("wasm", "webnn") for model in models),
        *(("generation", backend, "t5-efficient-tiny") for backend in ("wasm", "webnn")),
    }


@pytest.mark.nightly
def test_it_runs_as_processes_and_every_row_is_proven_and_correct(tmp_path: Path) -> None:
    browser = pytest.importorskip("runner.backends.onnxruntime_web.browser")
    if not browser.OWN_BROWSER.is_file():
        lacking("no browser: `make browser`")
    user = Workplace(tmp_path, "process")
    user.environment["ACCELMATRIX_DEVICE"] = "webgpu=software"
    for command in commands():
        words = command[command.index("run") :]
        words[1] = str(EXAMPLE)
        done = user.do(*words, "--launcher", "process")
        assert done.returncode == 0, done.stderr
    rows = user.ask("SELECT backend, status, proof, correct FROM benchmark_results")
    assert len(rows) == 11
    for row in rows:
        assert (row["status"], row["proof"], row["correct"]) == ("ok", "proven", True), row
