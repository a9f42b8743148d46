"""Talking moves no deadline: each step begins once, and the job as a whole has a limit."""

import json
from pathlib import Path
from queue import Queue

import pytest

from orchestrator.launchers.base import Exit
from orchestrator.running.execute_job import LaunchContext, execute_job
from orchestrator.running.launch_limits import Deadline, Step, job_limit_s, loads_of
from runner.contract.job import Job, Limits
from tests.support.fakes import KeptObserver, ScriptedLauncher, enter, measures_all, record
from tests.support.jobs import a_job, fake_cell
from tests.support.runs import a_plan, a_run_folder
from tests.support.words import words_of

CELL, OTHER = fake_cell(), fake_cell(2)
TIMEOUT_S = 10.0
JOB = a_job([CELL, OTHER], limits=Limits(cell_timeout_s=TIMEOUT_S))
EXPORT = JOB.model_copy(update={"purpose": "prepare"})


@pytest.mark.parametrize("kind", ["load", "cell", "result", "trace"])
def test_a_step_has_the_whole_time_once(kind: str) -> None:
    now, step = [0.0], Step(kind, CELL)  # type: ignore[arg-type]
    deadline = Deadline(JOB, lambda: now[0], 1000)
    now[0] = 4
    assert deadline.left_s == 6
    deadline.begin(step)
    assert deadline.left_s == TIMEOUT_S
    now[0] = 8
    deadline.begin(step)
    assert deadline.left_s == 6
    deadline.begin(Step("cell", OTHER))
    assert deadline.left_s == TIMEOUT_S


def test_an_export_loads_for_each_way_and_shape_but_not_for_ever() -> None:
    now = [0.0]
    deadline = Deadline(EXPORT, lambda: now[0], 1000)
    for _ in range(loads_of(EXPORT)):
        now[0] += 9
        deadline.begin(Step("load"))
    now[0] += 9
    deadline.begin(Step("load"))
    assert (loads_of(JOB), loads_of(EXPORT), deadline.left_s) == (1, 32, 1)


def test_the_job_as_a_whole_ends() -> None:
    now = [0.0]
    deadline = Deadline(JOB, lambda: now[0], 15)
    now[0] = 9
    deadline.begin(Step("load"))
    assert (deadline.left_s, deadline.is_the_jobs) == (6, False)
    now[0] = 15
    assert (deadline.left_s, deadline.is_the_jobs) == (0, True)
    assert (job_limit_s(JOB), job_limit_s(EXPORT)) == (8 * TIMEOUT_S, 39 * TIMEOUT_S)


class Clock:
    """A clock that goes on by a second whenever somebody looks."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def test_a_job_that_only_talks_is_ended(tmp_path: Path) -> None:
    def talks(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        enter(lines, "load")
        record(lines, job, job.cells[0], out)
        for cell in job.cells:
            for _ in range(200):
                enter(lines, "first", cell)
                for event in ("recorded", "visited"):
                    lines.put(json.dumps({"event": event, "cell_id": cell.id}))
        return Exit(0, out_of_memory=False, log="")

    folder = a_run_folder(tmp_path, a_plan([CELL, OTHER], limits=Limits(cell_timeout_s=50)))
    launcher, observer = ScriptedLauncher(talks, measures_all), KeptObserver()
    job = folder.job(folder.cells, folder.nowhere)
    execute_job(job, LaunchContext(launcher, folder, observer, Clock()))
    records = [folder.record_of(cell) for cell in folder.cells]
    assert [found and found.status for found in records] == ["ok", "timeout"]
    assert [status for _, status in observer.ended] == ["ok", "timeout"]
    assert len(observer.phases) < 100


@pytest.mark.parametrize("limit", ["space", "time"])
def test_a_job_over_its_own_limits_is_not_launched_again(tmp_path: Path, limit: str) -> None:
    def overdoes(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        enter(lines, "load")
        record(lines, job, job.cells[0], out)
        (out / "more").write_bytes(b"x" * 100_000)
        clock.now += 1 if limit == "space" else job_limit_s(job)
        enter(lines, "steady", job.cells[1])
        return Exit(0, out_of_memory=False, log="")

    clock = Clock()
    most = 99_999 if limit == "space" else None
    folder = a_run_folder(tmp_path, a_plan(limits=Limits(output_bytes=most)))
    launcher = ScriptedLauncher(overdoes)
    job = folder.job(folder.cells, folder.nowhere)
    execute_job(job, LaunchContext(launcher, folder, KeptObserver(), clock))
    records = [found for cell in folder.cells if (found := folder.record_of(cell))]
    reason = {
        "space": "ended in phase load, since its output is larger than 97.7KiB",
        "time": "the job's own limit, which follows from the cell timeout, was over in phase load",
    }[limit]
    status = {"space": "failed", "time": "timeout"}[limit]
    assert [(found.status, words_of(found.ending)) for found in records[1:]] == [
        (status, reason)
    ] * 2
    assert len(launcher.launched) == 1
