"""The folder of a GitHub runner in which the steps of workflows are executed."""

import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import ROOT

PROGRAMS = [".venv/bin/orchestrator", ".accelmatrix/bin/orchestrator"]
PYTHON = shlex.quote(sys.executable)
FAKE_GITHUB = shlex.quote(str(ROOT / "tests/support/gh.sh"))
"""A stand-in for GitHub's program `gh`; its first lines say how a test sets it up."""
NOTE_CALLS = 'printf "%q " "$@" >> calls; echo >> calls'
"""A stand-in for the orchestrator that notes its arguments."""
REAL = f'exec {PYTHON} -m orchestrator "$@"'
"""The orchestrator itself."""


@dataclass(frozen=True)
class Workspace:
    """A runner's folder with a stand-in for the orchestrator, which notes its arguments."""

    folder: Path

    def prepare(self, command: str) -> None:
        for program in PROGRAMS:
            self.provide(program, command)
        self.provide(".venv/bin/python", "true")
        self.provide("bin/gh", f'exec bash {FAKE_GITHUB} "$@"')
        (self.folder / "matrix.yaml").write_text((ROOT / "matrix.yaml").read_text("utf-8"))

    def provide(self, program: str, command: str) -> None:
        """Put a program there that does this."""
        path = self.folder / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/bash\n{command}\n")
        path.chmod(0o755)

    def execute(self, script: str, **variables: str) -> list[list[str]]:
        """Run a step as GitHub does; returns the arguments of each call of the orchestrator."""
        calls = self.folder / "calls"
        calls.unlink(missing_ok=True)
        known = {
            "PATH": f"{self.folder}/bin:/usr/bin:/bin",
            "MATRIX": "matrix.yaml",
            "RUNS_ON": "",
            "MAX_JOBS": "256",
            "NIGHTS": "1",
            "THRESHOLD": "5%",
            "HISTORY": "benchmark-history",
            "TAG": "benchmark-history",
            "FOLDER": "history",
            "WAITING": "false",
            "GENERATION": "000000",
            "KEEP_RUNS": "",
            "DROP_OLDER_THAN": "",
            "NUMBER": "12",
            "FILE": "comment.md",
            "SELECT": "cpu-*",
            "JOB": "cpu-bert-tiny",
            "LAUNCHER": "docker",
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary"),
            "NAME": "cpu",
            "GITHUB_REPOSITORY": "somebody/models",
            "GITHUB_REPOSITORY_OWNER": "Somebody",
            "GITHUB_RUN_ID": "7",
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_OUTPUT": str(self.folder / "output"),
            "PYTHONPATH": str(ROOT),
        }
        subprocess.run(
            ["bash", "-e", "-c", script], cwd=self.folder, env=known | variables, check=True
        )
        lines = calls.read_text().splitlines() if calls.exists() else []
        return [shlex.split(line) for line in lines]


def exit_status(workspace: Workspace, script: str, **variables: str) -> int:
    """The exit status of a step."""
    try:
        workspace.execute(script, **variables)
    except subprocess.CalledProcessError as failed:
        return failed.returncode
    return 0


def step_script(path: str, title: str) -> str:
    """The script of a step of that name, in a workflow or an action."""
    document: dict[str, Any] = yaml.safe_load((ROOT / path).read_text("utf-8"))
    parts = document.get("jobs", {"runs": document.get("runs")}).values()
    steps = [step for part in parts for step in part.get("steps", ())]
    (script,) = [step["run"] for step in steps if step.get("name") == title]
    return str(script)


def benchmark_script(title: str) -> str:
    """The script of a step of the benchmark workflow."""
    return step_script(".github/workflows/benchmark.yml", title)
