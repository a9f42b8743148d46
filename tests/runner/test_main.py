"""Processes of the runner: exit status, streams, and the end of the parent."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from orchestrator.store.records.validate import read_record
from runner.__main__ import main
from runner.contract.job import Job
from tests.conftest import ROOT
from tests.support.jobs import a_job, fake_cell, fake_model


def start(job: Job, tmp_path: Path, *options: str) -> subprocess.Popen[str]:
    job_file = tmp_path / "job.json"
    job_file.write_text(job.model_dump_json())
    command = [sys.executable, "-m", "runner", "--job", str(job_file), "--out", str(tmp_path)]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*command, *options], cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )


@pytest.mark.slow
def test_exit_zero_says_that_each_cell_has_a_record(tmp_path: Path) -> None:
    job = a_job([fake_cell(1), fake_cell(2)], fake_model({"*-b2-*": "raise"}))
    process = start(job, tmp_path)
    process.communicate()
    statuses = [read_record(tmp_path / f"{cell.id}.parquet").status for cell in job.cells]
    assert (process.returncode, statuses) == (0, ["ok", "failed"])


@pytest.mark.slow
def test_stdout_holds_progress_alone_whatever_libraries_print(tmp_path: Path) -> None:
    process = start(a_job(model=fake_model({"*": "print"})), tmp_path)
    stdout, stderr = process.communicate()
    assert all("event" in json.loads(line) for line in stdout.splitlines())
    assert "a stray line on stdout" in stderr


def test_an_unreadable_job_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job = tmp_path / "job.json"
    job.write_text('{"run_id": 3}')
    monkeypatch.setattr(sys, "argv", ["runner", "--job", str(job), "--out", str(tmp_path)])
    assert main() == 2
    error = capsys.readouterr().err
    assert error.startswith(f"{job}: not a job this runner understands")


def test_a_runner_dies_with_its_orchestrator(tmp_path: Path) -> None:
    process = start(a_job(model=fake_model({"*": "hang"})), tmp_path, "--die-with-parent")
    assert process.stdout is not None
    process.stdout.readline()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not list(tmp_path.glob("*.parquet"))


CLOSING = """
import sys, time
from runner.process import die_with_parent

class Slow:
    def __del__(self):  # called when threads of Python execute no more
        print("closing", flush=True)
        time.sleep(600)

slow = Slow()
die_with_parent()
"""
ORCHESTRATOR = f"""
import subprocess, sys
closing = [sys.executable, "-c", {CLOSING!r}]
runner = subprocess.Popen(closing, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
print(runner.pid, runner.stdout.readline(), flush=True)
input()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a signal for it")
def test_a_runner_that_is_closing_dies_with_its_orchestrator() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", ORCHESTRATOR], cwd=ROOT, stdin=pipe, stdout=pipe, text=True
    ) as orchestrator:
        assert orchestrator.stdout is not None
        pid, said = orchestrator.stdout.readline().split()
        runner = psutil.Process(int(pid))
        orchestrator.kill()
    assert said == "closing"
    assert psutil.wait_procs([runner], timeout=60)[1] == []
