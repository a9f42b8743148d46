"""Another checkout of AccelMatrix: found or refused, asked whether it fits, and launched."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from orchestrator.launchers.checkout import Checkout, find_checkout
from orchestrator.launchers.process import ProcessLauncher
from runner.contract.artifact_keys import GRAPHS, REFERENCES
from runner.contract.errors import UsageError
from runner.contract.record.record import SCHEMA_VERSION
from tests.conftest import ROOT
from tests.support.checkout import do, with_python
from tests.support.jobs import a_job, a_task

OURS = f'exec {shlex.quote(sys.executable)} "$@"'
FITS = {"fault": None, "graphs": {"runner": "1"}, "references": {"runner": "2"}}


def a_checkout(folder: Path, script: str = OURS) -> Checkout:
    """A checkout whose Python does this, with a runner unless it has one."""
    (folder / "runner").mkdir(parents=True, exist_ok=True)
    (folder / "runner/__main__.py").touch()
    return find_checkout(str(with_python(folder, script)))


def answering(answer: object) -> str:
    return f"cat > /dev/null; echo {shlex.quote(json.dumps(answer))}"


def test_folders_that_are_no_other_checkout_are_refused(tmp_path: Path) -> None:
    (tmp_path / "base/runner").mkdir(parents=True)
    for words in ("base", "nowhere"):
        with pytest.raises(UsageError, match="is no checkout of AccelMatrix") as refusal:
            find_checkout(str(tmp_path / words))
        assert "the folder of another checkout" in str(refusal.value.hint)
    (tmp_path / "base/runner/__main__.py").touch()
    with pytest.raises(UsageError, match=r"has no environment: there is no \.venv/bin/python"):
        find_checkout(str(tmp_path / "base"))
    (tmp_path / "link").symlink_to(ROOT)
    for ours in (ROOT, tmp_path / "link"):
        with pytest.raises(UsageError, match="is the checkout that measures"):
            find_checkout(str(ours))


def test_a_runner_like_ours_understands_our_jobs_and_makes_the_same(tmp_path: Path) -> None:
    checkout = Checkout(folder=with_python(tmp_path / "base", OURS))
    (checkout.folder / "runner").symlink_to(ROOT / "runner")
    checkout.require([a_job()])
    for producer in (GRAPHS, REFERENCES):
        assert checkout.versions(producer) == producer.versions(producer.installed())


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (answering(FITS | {"fault": "it is too old"}), "its runner does not fit: it is too old$"),
        ("echo No module named pydantic >&2; exit 1", "checkout's runner: No module named pydant"),
        ("exit 3", "checkout's runner: it ended with status 3"),
        (answering({"graphs": 1}), "cannot execute that checkout's runner"),
        (answering("nothing"), "cannot execute that checkout's runner"),
        ("printf '\\377\\033[2J'", "cannot execute that checkout's runner"),
        ("printf '\\033[2J' >&2; exit 1", r"\\u001b\[2J"),
    ],
)
def test_a_runner_that_does_not_fit_is_one_error(tmp_path: Path, script: str, words: str) -> None:
    checkout = a_checkout(tmp_path / "base", script)
    with pytest.raises(UsageError, match=words) as refusal:
        checkout.require([a_job()])
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("changed", "old", "new", "words"),
    [
        ("job.py", "side_by_side: SideBySide", "beside: SideBySide", "job: side_by_side: Extra in"),
        ("record/record.py", f"= {SCHEMA_VERSION} ", "= 1 ", "its records have schema 1, and"),
    ],
)
def test_what_an_older_runner_lacks_is_named(
    tmp_path: Path, changed: str, old: str, new: str, words: str
) -> None:
    copy = tmp_path / "base/runner"
    do(tmp_path, "mkdir", "base")
    do(tmp_path, "cp", "-r", ROOT / "runner", copy)
    file = copy / "contract" / changed
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(UsageError, match=words):
        a_checkout(copy.parent).require([a_job()])


def test_its_jobs_execute_with_its_python_and_its_runner(tmp_path: Path) -> None:
    script = 'printf "%s %s\\n" "$PYTHONPATH" "$*"'
    checkout = a_checkout(tmp_path / "base", script)
    task = a_task(tmp_path)
    with ProcessLauncher(checkout=checkout).launch(task) as execution:
        (line,) = iter(execution.lines.get, None)
        assert execution.wait().code == 0
    path, *arguments = line.split()
    assert path == str(checkout.folder)
    assert arguments[:3] == ["-P", "-m", "runner"]


def test_its_commit_is_that_of_its_jobs(tmp_path: Path) -> None:
    checkout = a_checkout(tmp_path / "base")
    assert ProcessLauncher(checkout=checkout).prepare("fake").git_commit is None
    do(checkout.folder, "git", "init", "--quiet")
    do(checkout.folder, "git", "add", "runner/__main__.py")
    who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@localhost")
    do(checkout.folder, "git", *who, "commit", "--quiet", "--message=first")
    commit = do(checkout.folder, "git", "rev-parse", "HEAD").strip()
    assert ProcessLauncher(checkout=checkout).prepare("fake").git_commit == f"{commit}-dirty"
