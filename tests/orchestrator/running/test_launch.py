"""A launch is followed as far as it can be believed, and held to its deadline and its quota."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from queue import Queue

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.launchers.base import Exit
from orchestrator.running.execute_job import LaunchContext, execute_job
from orchestrator.running.launch import ProgressEvent, read_event
from orchestrator.running.launch_limits import (
    Deadline,
    OutputQuota,
    Step,
    excess_of,
    job_limit_s,
    loads_of,
)
from runner.contract.job import Job, Limits
from tests.support.fakes import KeptObserver, ScriptedLauncher, enter, measures_all, record
from tests.support.jobs import a_job, fake_cell, fake_model
from tests.support.runs import a_plan, a_run_folder
from tests.support.words import words_of

CELL = fake_cell()
CELLS = {CELL.id: CELL}

words = st.sampled_from(["event", "cell_id", "phase", "recorded", "visited", "load", CELL.id])
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | words
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


def line(**fields: object) -> str:
    return json.dumps(fields)


@pytest.mark.parametrize(
    ("text", "event"),
    [
        (line(event="phase", phase="load", cell_id=None), ProgressEvent("phase", None, "load")),
        (
            line(event="phase", phase="steady", cell_id=CELL.id),
            ProgressEvent("phase", CELL, "steady"),
        ),
        (line(event="recorded", cell_id=CELL.id), ProgressEvent("recorded", CELL)),
        (line(event="visited", cell_id=CELL.id, more=[1]), ProgressEvent("visited", CELL)),
        (line(event="phase", phase="load", cell_id="another"), None),
        (line(event="phase", phase="load"), None),
        (line(event="phase", phase="lunch", cell_id=None), None),
        (line(event="phase", phase=["load"], cell_id=None), None),
        (line(event="recorded", cell_id=None), None),
        (line(event={}, cell_id=CELL.id), None),
        ("", None),
        ("NaN", None),
        ("9" * 60_000, None),
        ("[" * 60_000, None),
        ('{"event":' * 10_000, None),
        (line(event="recorded", cell_id=CELL.id, more="x" * 70_000), None),
        ("\ud800\0\x1b[2J", None),
    ],
)
def test_a_line_is_an_event_about_the_jobs_cells_or_nothing(
    text: str, event: ProgressEvent | None
) -> None:
    assert read_event(text, CELLS) == event


@given(st.text() | values.map(json.dumps) | st.dictionaries(words, values).map(json.dumps))
def test_no_text_is_an_error(text: str) -> None:
    event = read_event(text, CELLS)
    assert event is None or event.cell in (None, CELL)


OTHER = fake_cell(2)
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
    job = folder.run.job(folder.cells, folder.nowhere)
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
    job = folder.run.job(folder.cells, folder.nowhere)
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


GIB = 1 << 30
QUOTA = OutputQuota(most_bytes=1000, most_files=20)


def sparse(path: Path, size: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)


def many(folder: Path) -> None:
    for number in range(21):
        (folder / str(number)).touch()


@pytest.mark.parametrize(
    ("fill", "excess"),
    [
        (lambda folder: sparse(folder / "a" / "b", 1000), None),
        (lambda folder: sparse(folder / "a" / "b", 1001), "is larger than 1000B"),
        (lambda folder: (folder / "link").symlink_to(Path(__file__)), None),
        (lambda folder: (folder / "loop").symlink_to(folder), None),
        (lambda folder: os.mkfifo(folder / "fifo"), None),
        (many, "has more than 20 files"),
        (lambda folder: (folder / ("d/" * 40)).mkdir(parents=True), "has more than 20 files"),
    ],
    ids=["at the limit", "over it", "link", "loop", "fifo", "files", "folders"],
)
def test_what_a_job_leaves_is_held_to_its_quota(
    tmp_path: Path, fill: Callable[[Path], None], excess: str | None
) -> None:
    fill(tmp_path)
    assert words_of(excess_of(tmp_path, QUOTA)) == excess


def test_what_is_allowed_follows_from_the_job_unless_it_is_set() -> None:
    model = fake_model().model_copy(update={"parameters": 7_000_000_000})
    job = a_job([fake_cell(size) for size in range(1, 33)], model)
    assert OutputQuota.of(job) == OutputQuota(8 * GIB, 10_000 + 32 * 100)
    assert OutputQuota.of(a_job(model=model)).most_bytes == 4 * GIB
    export = a_job(model=model).model_copy(update={"purpose": "prepare"})
    assert OutputQuota.of(export).most_bytes == 4 * GIB + 12 * 7_000_000_000 * 3
    assert OutputQuota.of(a_job(limits=Limits(output_bytes=5))).most_bytes == 5
