"""What a shell is offered: commands, options and their values; nothing where something is wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.store.query.relations import RELATIONS
from runner.contract.axes import AXES
from tests.support.workplace import CLI, Workplace

SNAPSHOT = "20261103-before"
CELL = "cpu-bert-tiny-fp32-b1-s128-inference"
RUNTIMES = next(axis.choices for axis in AXES if axis.name == "runtime")
VIEWS = [relation.name for relation in RELATIONS]


@pytest.fixture
def results(tmp_path: Path) -> Workplace:
    """A folder in which there are files of two runs and a snapshot, all of them empty."""
    for name in (
        "20261101-090000-aaaa/run.json",
        "20261102-090000-bbbb/run.json",
        ".half/run.json",
    ):
        _touch(tmp_path / "results" / name)
    _touch(tmp_path / f"results/20261102-090000-bbbb/records/job/{CELL}.parquet")
    _touch(tmp_path / "results/snapshots/20261103-before/manifest.json")
    return Workplace(tmp_path, "process")


def _touch(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.touch()


def offered(place: Workplace, line: str) -> list[str]:
    """The words that bash is offered behind this line."""
    words = {"COMP_WORDS": f"orchestrator {line}", "COMP_CWORD": str(len(line.split(" ")))}
    place.environment = {**words, "_ORCHESTRATOR_COMPLETE": "complete_bash"}
    done = place.do()
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mo", ["models"]),
        ("models ", ["list", "show"]),
        ("bench --pro", ["--profile"]),
        ("bench --profile ", ["quick", "standard", "audit"]),
        ("bench --model bert-t", ["bert-tiny"]),
        ("bench --model gpt2,bert-t", ["gpt2,bert-tiny"]),
        ("bench --precision fp32,", ["fp32,bf16", "fp32,fp16", "fp32,int8"]),
        ("bench --runtime ", list(RUNTIMES[:-1])),
        ("bench --backend av", ["available"]),
        ("bench --batch_sizes 1 --modes=st", ["startup"]),
        ("models list --set mi", ["micro"]),
        ("images build cp", ["cpu"]),
        ("query lat", [name for name in VIEWS if name.startswith("lat")]),
        ("explain gra", ["grade"]),
        ("status ", ["last", "last~1", "20261102-090000-bbbb", "20261101-090000-aaaa"]),
        ("run --resume la", ["last", "last~1"]),
        ("regress --baseline 202611", ["20261102-090000-bbbb", "20261101-090000-aaaa", SNAPSHOT]),
        ("plan m.yaml --resume 20261101", ["20261101-090000-aaaa"]),
        ("export --run 20261102", ["20261102-090000-bbbb"]),
        ("database drop 20261102", ["20261102-090000-bbbb"]),
        ("status --results elsewhere ", []),
        ("replay last/c", [f"last/{CELL}"]),
        ("replay 20261102-090000-bbbb/", [f"20261102-090000-bbbb/{CELL}"]),
        ("replay nobody/", []),
        ("database restore ", ["last", "20261103-before"]),
        ("nonsense --mo", []),
        ("bench --nonsense --model bert-t", ["bert-tiny"]),
    ],
)
def test_values_are_completed(results: Workplace, line: str, words: list[str]) -> None:
    assert offered(results, line) == words


@pytest.mark.parametrize("environment", [{"COMP_CWORD": "x"}, {"_ORCHESTRATOR_COMPLETE": "y"}, {}])
def test_completion_fails_in_silence(results: Workplace, environment: dict[str, str]) -> None:
    results.environment = {"_ORCHESTRATOR_COMPLETE": "complete_bash", **environment}
    done = results.do("bench", "--model", "bert-tiny")
    assert (done.returncode in {0, 1}, done.stdout, "Traceback" in done.stderr) == (True, "", False)


def test_what_is_installed_is_said(tmp_path: Path) -> None:
    """A process of its own, as the shell is found by its child."""
    done = subprocess.run(
        ["bash", "-c", f"{' '.join(CLI)} --install-completion; true"],
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    script = tmp_path / ".bash_completions/orchestrator.sh"
    assert f"bash completion installed in {script}" in done.stdout
    assert f"edited {tmp_path}/.bashrc, which reads it when a shell starts" in done.stdout
    assert str(script) in (tmp_path / ".bashrc").read_text()
    assert "_ORCHESTRATOR_COMPLETE=complete_bash" in script.read_text()
    assert sys.executable not in script.read_text()
