"""The choice of a launcher, and the variables of a runner."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.launchers.environment import (
    inherited_variables,
    process_environment,
    set_variables,
)
from orchestrator.launchers.registry import NO_ENGINE, choose_launcher, preview_launcher
from runner.contract.cell import Purpose
from runner.contract.errors import EngineUnavailable, UsageError
from runner.contract.processes import OWN_PYTHON
from runner.contract.web import BROWSER_VARIABLE, BrowserChoice
from tests.support.jobs import a_job

OURS = {"PATH": "/bin", "ONEDNN_MAX_CPU_ISA": "AVX2", "CUDA_VISIBLE_DEVICES": "1", "A%%": ""}


def test_a_runner_knows_where_it_is_and_nothing_of_the_shell() -> None:
    hub = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    expected = {"PATH": "/bin", "CUDA_VISIBLE_DEVICES": "1", **hub, **OWN_PYTHON}
    assert process_environment(a_job(), OURS) == expected


@pytest.mark.parametrize(
    ("browser", "passed"),
    [
        (None, set()),
        (BrowserChoice(name="~/b"), {"ACCELMATRIX_BROWSER": str(Path("~/b").expanduser())}.items()),
        (BrowserChoice(headed=True), {"ACCELMATRIX_BROWSER_HEADED": "1", "DISPLAY": ":0"}.items()),
    ],
)
def test_the_chosen_browser_is_that_of_the_job_and_a_window_knows_its_display(
    browser: BrowserChoice | None, passed: Any
) -> None:
    ours = {**OURS, "DISPLAY": ":0", BROWSER_VARIABLE: "chrome"}
    job = a_job().model_copy(update={"browser": browser})
    usual = process_environment(a_job(), OURS).items()
    assert process_environment(job, ours).items() - usual == set(passed)


@pytest.mark.parametrize(("purpose", "inherits"), [("measure", True), ("reference", False)])
def test_a_variable_that_was_named_is_passed_to_what_is_measured(
    purpose: Purpose, inherits: bool
) -> None:
    names = ("ONEDNN_MAX_CPU_ISA", "GONE")
    job = a_job().model_copy(update={"inherit_environ": names, "purpose": purpose})
    expected = {"ONEDNN_MAX_CPU_ISA": "AVX2"} if inherits else {}
    assert inherited_variables(job, OURS) == expected


@pytest.mark.parametrize(
    ("word", "hint"), [("ONEDNN_MAX_CPU_ISO", "did you mean ONEDNN_MAX_CPU_ISA?"), ("", "export")]
)
def test_a_variable_that_is_not_set_is_an_error(word: str, hint: str) -> None:
    with pytest.raises(UsageError, match="is not set in this environment") as refusal:
        set_variables([word], OURS)
    assert hint in (refusal.value.hint or "")


@pytest.fixture
def no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens where the engine should be."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")


@pytest.mark.usefixtures("no_engine")
def test_without_an_engine_jobs_run_as_processes_unless_containers_were_asked_for() -> None:
    notes: list[str] = []
    assert choose_launcher("auto", notes.append) == "process"
    assert notes == [NO_ENGINE]
    assert choose_launcher("process", notes.append) == "process"
    with pytest.raises(EngineUnavailable):
        choose_launcher("docker", notes.append)


@pytest.mark.usefixtures("no_engine")
def test_a_preview_needs_no_engine() -> None:
    names = [preview_launcher(requested).name for requested in ("auto", "process", "docker")]
    assert names == ["process", "process", "docker"]
