"""Another checkout of AccelMatrix on this machine, and the environment that it executes in."""

import json
import os
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from orchestrator.system.git import git_commit
from orchestrator.system.text import escape_control_line
from runner.contract.artifact_keys import GRAPHS, PACKAGE, Producer
from runner.contract.cell import Frozen
from runner.contract.errors import UsageError
from runner.contract.job import Job
from runner.contract.processes import last_line, python_environment
from runner.contract.record.record import SCHEMA_VERSION

_RUNNER, _PYTHON = "runner/__main__.py", ".venv/bin/python"
_PATIENCE_S = 120.0
_INSTALL = "`make install` in that folder makes its environment"
_PROBE = """
import json, sys
from runner.contract.artifact_keys import GRAPHS, REFERENCES
from runner.contract.job import Job
from runner.contract.record.record import SCHEMA_VERSION
schema, *jobs = json.load(sys.stdin)
fault = None
try:
    for job in jobs:
        Job.model_validate_json(job)
except ValueError as error:
    first = error.errors()[0]
    fault = f"it does not understand a job: {'.'.join(map(str, first['loc']))}: {first['msg']}"
if schema != SCHEMA_VERSION:
    fault = f"its records have schema {SCHEMA_VERSION}, and {schema} is read here"
graphs, references = (one.versions(one.installed()) for one in (GRAPHS, REFERENCES))
print(json.dumps({"fault": fault, "graphs": graphs, "references": references}))
"""
"""The program that its interpreter executes, with its own `runner`."""


class _Answer(Frozen):
    fault: str | None
    """The reason why its runner and this orchestrator do not understand each other."""
    graphs: dict[str, str]
    references: dict[str, str]


class Checkout(Frozen):
    """A folder with a `runner` package and, in `.venv`, the environment that it executes in."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / _PYTHON

    @property
    def commit(self) -> str | None:
        return git_commit(self.folder)

    def versions(self, producer: Producer) -> dict[str, str]:
        """Its code and libraries that make graphs or references."""
        answer = _answer(self)
        return answer.graphs if producer is GRAPHS else answer.references

    def require(self, jobs: Iterable[Job]) -> None:
        """Insist that its runner understands these jobs, and leaves what is understood here."""
        if fault := _answer(self, *(job.model_dump_json() for job in jobs)).fault:
            raise UsageError(
                f"{self.folder}: its runner does not fit: {escape_control_line(fault)}",
                hint="name a checkout that is closer to this one",
            )


def has_runner(word: str) -> bool:
    """True if the word is the path of a folder with a `runner` package."""
    return os.path.isfile(f"{word}/{_RUNNER}")  # noqa: PTH113 - a Path raises for long names


def find_checkout(word: str) -> Checkout:
    """The checkout in the folder that the word names.

    Raises:
        UsageError: it holds none, or the one that this process runs from, or no environment.
    """
    if not has_runner(word):
        raise UsageError(
            f"{word}: is no checkout of AccelMatrix: there is no {_RUNNER}",
            hint="with --interleave a baseline is `last`, a run's id, a snapshot's name, another"
            " matrix file, or the folder of another checkout",
        )
    checkout = Checkout(folder=Path(word).resolve())
    if PACKAGE.samefile((checkout.folder / _RUNNER).parent):
        raise UsageError(
            f"{word}: is the checkout that measures, so nothing differs",
            hint="`git worktree add ../base main` checks out another version beside this one",
        )
    if not checkout.python.is_file():
        raise UsageError(f"{word}: has no environment: there is no {_PYTHON}", hint=_INSTALL)
    return checkout


@cache
def _answer(checkout: Checkout, *jobs: str) -> _Answer:
    try:
        done = subprocess.run(
            [str(checkout.python), "-P", "-c", _PROBE],
            input=json.dumps([SCHEMA_VERSION, *jobs]),
            env={**python_environment(), "PYTHONPATH": str(checkout.folder)},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE_S,
            check=False,
        )
        return _Answer.model_validate_json(last_line(done.stdout))
    except (OSError, subprocess.TimeoutExpired) as error:
        words = str(error)
    except ValidationError:
        words = last_line(done.stderr) or f"it ended with status {done.returncode}"
    raise UsageError(
        f"{checkout.python}: cannot execute that checkout's runner: {escape_control_line(words)}",
        hint=_INSTALL,
    )
