"""A baseline of another checkout: what its run keeps, and which version makes what it reads."""

import json
import shlex
from pathlib import Path

import pytest

from orchestrator.launchers.checkout import Checkout
from orchestrator.launchers.process import ProcessLauncher
from orchestrator.planning.plan import Plan, RunSource
from orchestrator.running.artifacts.cache import ArtifactCache, versions_of
from orchestrator.running.execute_job import Availability, LaunchContext
from orchestrator.running.folder import RunFolder
from orchestrator.running.interleaved import (
    BaselineVersion,
    BothFolders,
    create_both,
    require_executable,
)
from orchestrator.running.options import RunOptions
from orchestrator.system.git import own_commit
from runner.contract.artifact_keys import GRAPHS, REFERENCES
from runner.contract.errors import UsageError
from tests.support.checkout import do, with_python
from tests.support.fakes import KeptObserver, ScriptedLauncher, measures_all
from tests.support.jobs import fake_cell
from tests.support.runs import SEED, a_plan

ANSWER = {"fault": None, "graphs": {"torch": "1"}, "references": {"torch": "2"}}


def answering(folder: Path, **changes: object) -> Checkout:
    """A checkout in a repository, whose runner gives this answer."""
    said = shlex.quote(json.dumps(ANSWER | changes))
    with_python(folder, f"cat > {folder}/asked; echo {said}")
    do(folder, "git", "init", "--quiet")
    who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@localhost")
    do(folder, "git", *who, "commit", "--quiet", "--allow-empty", "--message=first")
    return Checkout(folder=folder)


def both_of(results: Path, checkout: Checkout | None, plan: Plan | None = None) -> BothFolders:
    options = RunOptions(launcher="process", scratch=True, seed=SEED)
    version = BaselineVersion((), cells=(), checkout=checkout)
    return create_both(plan or a_plan(), RunSource(), results, options, version, 0.03)


def test_the_run_of_a_baseline_keeps_the_checkout_for_a_resumption(tmp_path: Path) -> None:
    checkout = answering(tmp_path / "base")
    both_of(tmp_path / "results", checkout)
    again = BothFolders.open(tmp_path / "results", RunFolder.open(tmp_path / "results", "last"))
    assert again is not None
    assert again.run.run.git_commit == own_commit()
    baseline = again.baseline.run
    assert baseline.version is not None
    assert baseline.version.checkout == checkout
    commit = do(checkout.folder, "git", "rev-parse", "HEAD").strip()
    assert baseline.git_commit == f"{commit}-dirty"
    require_executable(baseline)


def test_its_runner_is_asked_about_each_job_before_anything_is_made(tmp_path: Path) -> None:
    checkout = answering(tmp_path / "base", fault="it is too old")
    plan = a_plan([fake_cell(1), fake_cell(2), fake_cell(1, threads=2)])
    with pytest.raises(UsageError, match="does not fit: it is too old"):
        both_of(tmp_path / "results", checkout, plan)
    assert not list((tmp_path / "results").glob("*/run.json"))
    _, *jobs = json.loads((checkout.folder / "asked").read_text())
    assert len({json.loads(job)["id"] for job in jobs}) == len(jobs) == 2


def test_what_a_checkout_reads_is_made_by_itself(tmp_path: Path) -> None:
    both = both_of(tmp_path / "results", answering(tmp_path / "base"))
    launcher = ScriptedLauncher(measures_all)
    for folder, graphs, references in (
        (both.baseline, {"torch": "1"}, {"torch": "2"}),
        (both.run, *(versions_of(one, in_images=False) for one in (GRAPHS, REFERENCES))),
    ):
        context = LaunchContext(launcher, folder, KeptObserver())
        cache = ArtifactCache(tmp_path, context, Availability(launcher))
        assert (cache.versions(GRAPHS), cache.versions(REFERENCES)) == (graphs, references)


def test_the_commit_of_a_version_is_its_own(tmp_path: Path) -> None:
    checkout = answering(tmp_path / "base")
    theirs = Availability(ProcessLauncher(checkout=checkout), earlier=True).prepare("fake")
    ours = Availability(ProcessLauncher()).prepare("fake")
    assert (theirs.git_commit, ours.git_commit) == (checkout.commit, own_commit())
    assert theirs.hostname == ours.hostname
