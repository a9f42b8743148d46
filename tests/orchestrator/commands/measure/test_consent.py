"""What a stranger's record chose is taken only if the user says so; one's own needs nothing."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.running.replay import describe_choices, is_own, require_consent
from runner.contract.errors import UsageError
from runner.contract.job import PROFILES, Job, Limits, Provenance
from runner.contract.web import BrowserChoice
from tests.support.jobs import fake_cell
from tests.support.runs import a_plan, a_run_folder


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def job(results: Path) -> Job:
    """The job of one cell that a run in the results folder planned."""
    folder = a_run_folder(results, a_plan(), "run-1")
    provenance = Provenance(launcher="docker", orchestrator_version="0")
    whole = folder.job(folder.cells[:1], provenance)
    return whole.model_copy(update={"limits": Limits(), "measure": PROFILES["quick"]})


def _with(job: Job, **changes: Any) -> Job:
    model = changes.pop("model", {})
    return job.model_copy(update={**changes, "model": job.model.model_copy(update=model)})


def test_a_result_is_own_if_a_run_here_planned_it_with_all_it_says(results: Path) -> None:
    folder = a_run_folder(results, a_plan(), "run-1")
    launcher = folder.run.launcher
    own = folder.job(folder.cells[:1], Provenance(launcher=launcher, orchestrator_version="0"))
    assert is_own(own, launcher, results)
    for other in (
        _with(own, run_id="run-2"),
        _with(own, seed=own.seed + 1),
        _with(own, weights_seed=own.weights_seed + 1),
        _with(own, limits=Limits(pids=10**6)),
        _with(own, browser=BrowserChoice(name="/tmp/evil")),
        _with(own, model={"weights": "pretrained", "path": "/etc"}),
    ):
        assert not is_own(other, launcher, results)


UNUSUAL: dict[str, tuple[dict[str, Any], str]] = {
    "folder": (
        {"model": {"weights": "pretrained", "path": "/home/me"}},
        "pretrained weights from /home/me",
    ),
    "pids": ({"limits": Limits(pids=10**6)}, r"limit pids 1000000 \(by default 4096\)"),
    "time": ({"limits": Limits(cell_timeout_s=1e9)}, "limit cell_timeout_s"),
    "duration": (
        {"measure": PROFILES["audit"].model_copy(update={"max_s": 1e9})},
        r"max_s 1e\+09 \(up to 3600\)",
    ),
    "rounds": ({"measure": PROFILES["quick"].model_copy(update={"rounds": 999})}, "rounds 999"),
    "variable": ({"inherit_environ": ("LD_PRELOAD",)}, "variable LD_PRELOAD of this shell"),
    "browser": ({"browser": BrowserChoice(name="/tmp/evil")}, "browser /tmp/evil"),
    "workers": ({"cells": (fake_cell(mode="startup", workers=999),)}, "workers 999"),
}


@pytest.mark.parametrize("case", UNUSUAL)
def test_what_run_would_not_choose_needs_an_option(job: Job, case: str) -> None:
    changes, words = UNUSUAL[case]
    unusual = _with(job, **changes)
    with pytest.raises(UsageError, match=words) as caught:
        require_consent(unusual, "docker", requested=None, as_recorded=False)
    assert "--as-recorded" in (caught.value.hint or "")
    require_consent(unusual, "docker", requested=None, as_recorded=True)


def test_a_process_is_started_only_if_the_user_names_it(job: Job) -> None:
    require_consent(job, "docker", requested=None, as_recorded=False)
    with pytest.raises(UsageError, match="outside any container") as caught:
        require_consent(job, "process", requested=None, as_recorded=True)
    assert "--launcher process" in (caught.value.hint or "")
    for requested in ("process", "docker"):
        require_consent(job, "process", requested=requested, as_recorded=False)


def test_a_records_text_makes_no_line_of_its_own(job: Job) -> None:
    image = "x\x1b[2J\nlimits as usual"
    strange = _with(job, provenance=job.provenance.model_copy(update={"image": image}))
    lines = describe_choices(strange, "docker")
    assert len(lines) == len(describe_choices(job, "docker"))
    assert all(line.isprintable() for line in lines)
