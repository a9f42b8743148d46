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
from orchestrator.running.execute_job import JobExecution, LaunchContext
from orchestrator.running.launch import (
    FollowedLaunch,
    Launch,
    LaunchProgress,
    ProgressEvent,
    read_event,
)
from orchestrator.running.launch_limits import (
    Deadline,
    OutputQuota,
    QuotaWatch,
    Step,
    excess_of,
    job_limit_s,
    loads_of,
)
from runner.contract.job import Job, Limits, SideBySide
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
        (line(event="waits", cell_id=CELL.id), ProgressEvent("waits", CELL)),
        (line(event="waits", cell_id=None), None),
        (line(event="waits", cell_id="another"), None),
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
    JobExecution(job, LaunchContext(launcher, folder, observer, Clock())).execute()
    records = [folder.record_of(cell) for cell in folder.cells]
    assert [found and found.status for found in records] == ["ok", "timeout"]
    assert [status for _, status in observer.ended] == ["ok", "timeout"]
    assert len(observer.phases) < 100


class Telling:
    """A launch that prints these lines, and more of them for each order that it gets."""

    def __init__(self, *lines: str | None) -> None:
        self.lines: Queue[str | None] = Queue()
        self.orders: list[str] = []
        self.is_killed = False
        self.say(*lines)

    def say(self, *lines: str | None) -> None:
        for text in lines:
            self.lines.put(text)

    def send(self, text: str) -> None:
        self.orders.append(text)

    def kill(self) -> None:
        self.is_killed = True

    def wait(self) -> Exit:
        return Exit(0, out_of_memory=False, log="")


WAITS = line(event="waits", cell_id=CELL.id)


def followed(
    folder: Path, execution: Telling, clock: Callable[[], float], **changes: object
) -> FollowedLaunch:
    job = JOB.model_copy(update={"side_by_side": SideBySide(group="g", looks=(3,))} | changes)
    run, deadline = a_run_folder(folder, a_plan([CELL, OTHER])), Deadline(job, clock, 100)
    progress = LaunchProgress(Launch(job), run, KeptObserver(), deadline)
    quota = QuotaWatch(folder, OutputQuota.of(job), clock)
    return FollowedLaunch(execution, progress, deadline, quota)


def test_a_launch_is_followed_until_it_waits_and_goes_on_by_an_order(tmp_path: Path) -> None:
    execution = Telling(
        line(event="phase", phase="load", cell_id=None), "a stray line", WAITS, WAITS
    )
    launch = followed(tmp_path, execution, lambda: 0.0)
    assert launch.question is None
    launch.follow()
    assert launch.question == CELL.question
    launch.take_burst(0.2, 1.0)
    assert launch.question == CELL.question
    execution.say(line(event="waits", cell_id=OTHER.id), None)
    launch.go_on()
    assert launch.question == OTHER.question
    launch.go_on()
    assert (launch.question, execution.is_killed, launch.launch.stopped) == (None, False, None)
    assert [json.loads(order) for order in execution.orders] == [{"burst_s": 0.2}, {}, {}]


def test_who_takes_no_turns_may_say_that_it_waits_and_goes_on(tmp_path: Path) -> None:
    execution = Telling(WAITS, line(event="phase", phase="load", cell_id=None), None)
    launch = followed(tmp_path, execution, lambda: 0.0, side_by_side=None)
    launch.follow()
    assert (launch.question, execution.lines.empty()) == (None, True)


@pytest.mark.parametrize(("patience_s", "in_time"), [(3.0, False), (8.0, True)])
def test_a_turn_has_the_time_that_it_is_given_and_waiting_takes_none(
    tmp_path: Path, patience_s: float, in_time: bool
) -> None:
    now = [0.0]
    execution = Telling(WAITS)
    launch = followed(tmp_path, execution, lambda: now[0])
    launch.follow()
    now[0] = 80.0  # the others' turns
    execution.send = lambda _: (execution.say(WAITS), now.__setitem__(0, now[0] + 5.0))  # type: ignore[method-assign,assignment]
    launch.take_burst(0.2, patience_s)
    assert (launch.question == CELL.question) is in_time
    assert execution.is_killed is not in_time
    stopped = launch.launch.stopped
    assert (stopped and (stopped.status, words_of(stopped.reason))) == (
        None if in_time else ("lost", "its burst was not done after 3 s, so it was ended")
    )


def test_waiting_again_and_again_does_not_outlive_the_job(tmp_path: Path) -> None:
    execution = Telling(*[WAITS] * 1000)
    clock = Clock()
    launch = followed(tmp_path, execution, clock)
    launch.follow()
    while launch.question is not None:
        launch.take_burst(0.2, 1e9)
    assert execution.is_killed
    assert launch.launch.stopped
    assert launch.launch.stopped.is_the_jobs


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
    JobExecution(job, LaunchContext(launcher, folder, KeptObserver(), clock)).execute()
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
