"""Progress of a run, plain, live and quiet, and the time that is left."""

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest
from rich.console import Console

from orchestrator.commands.program.progress import (
    Forecast,
    LiveObserver,
    PlainObserver,
    show_progress,
)
from orchestrator.running.observer import QuietObserver
from orchestrator.system.text import parse_duration
from runner.contract.job import Job
from runner.contract.reasons import reason
from runner.contract.record.record import Record
from runner.contract.record.verdict import Status
from tests.support.jobs import a_job, fake_cell
from tests.support.records import record_for

Capture = pytest.CaptureFixture[str]
CELLS = (fake_cell(1), fake_cell(2), fake_cell(4))
JOB = a_job(CELLS)


def record_of(number: int = 0, status: Status = "ok", **outcome: object) -> Record:
    return record_for(JOB, CELLS[number], status=status, **outcome)


class Stopwatch:
    """Seconds that pass when a test says so."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def stopwatch() -> Stopwatch:
    return Stopwatch()


def estimates(*seconds: float) -> dict[str, float]:
    return dict(zip((cell.id for cell in CELLS), seconds, strict=True))


def forecast(stopwatch: Stopwatch, *seconds: float) -> Forecast:
    return Forecast(estimates(*seconds), stopwatch)


@pytest.fixture
def plain(stopwatch: Stopwatch) -> PlainObserver:
    observer = PlainObserver(stopwatch)
    observer.run_started(estimates(10, 10, 20))
    return observer


@contextmanager
def live(stopwatch: Stopwatch, width: int = 120) -> Iterator[tuple[LiveObserver, io.StringIO]]:
    text = io.StringIO()
    console = Console(
        file=text, force_terminal=True, width=width, markup=False, emoji=False, highlight=False
    )
    with LiveObserver(console, stopwatch) as observer:
        observer.run_started(estimates(10, 10, 20))
        yield observer, text


@pytest.mark.parametrize(
    ("seconds", "waited_s", "first_s", "left"),
    [
        ((30, 30, 60), None, None, "about 2m left"),
        ((10, 10, 20), 0, 20, "about 47s left"),
        ((1, 50, 49), 0, 20, "about 3m9s left"),
    ],
    ids=["estimates", "pace", "one slow cell"],
)
def test_the_forecast_learns_from_the_pace(
    stopwatch: Stopwatch,
    seconds: tuple[float, ...],
    waited_s: float | None,
    first_s: float | None,
    left: str,
) -> None:
    cells = forecast(stopwatch, *seconds)
    if waited_s is not None:
        stopwatch.now += waited_s
        cells.begin()
    if first_s is not None:
        stopwatch.now += first_s
        cells.end(CELLS[0])
    assert str(cells) == left


def seconds_left(cells: Forecast) -> float:
    duration = re.fullmatch(r"about (\S+) left", str(cells))
    assert duration, str(cells)
    return parse_duration(duration[1])


def test_the_time_left_passes_until_a_cell_takes_long(stopwatch: Stopwatch) -> None:
    """`about 9s left` cannot stand for eight minutes."""
    cells = forecast(stopwatch, 30, 30, 60)
    cells.begin()
    left = []
    for moment in (10, 20, 30, 300, 600):
        stopwatch.now = 1000.0 + moment
        left.append(seconds_left(cells))
    assert left[:3] == [110, 100, 90]
    assert left[3] > 400
    assert left[4] > 1.9 * left[3]
    cells.end(CELLS[0])
    assert seconds_left(cells) > 900, "the next cells are slow too"


def of_rounds(rounds: int, most: int, number: int) -> Job:
    measure = JOB.measure.model_copy(update={"rounds": rounds, "max_rounds": most})
    return JOB.model_copy(update={"measure": measure, "round": number})


@pytest.mark.parametrize(
    ("rounds", "most", "number", "left"),
    [(3, 3, 1, 20), (3, 12, 3, 10), (3, 12, 5, 30), (3, 12, 11, 10), (10, 28, 10, 3)],
    ids=["to come", "one more", "as many again", "the last", "of many"],
)
def test_rounds_beyond_the_fewest_are_expected(
    rounds: int, most: int, number: int, left: float
) -> None:
    cells = Forecast({CELLS[0].id: 30.0})
    cells.visit(CELLS[0], of_rounds(rounds, most, number))
    assert seconds_left(cells) == left


def test_more_pairs_than_planned_take_longer() -> None:
    cells = Forecast({CELLS[0].id: 100.0})
    for rounds, number, left in ((10, 9, 10), (28, 10, 180)):
        cells.visit(CELLS[0], of_rounds(rounds, 28, number))
        assert seconds_left(cells) == left


def test_the_forecast_counts_each_cell_it_knows_once(stopwatch: Stopwatch) -> None:
    cells = forecast(stopwatch, 1, 1, 1)
    cells.end(fake_cell(64))
    assert (cells.done, cells.total, str(cells)) == (0, 3, "about 3s left")
    for done, cell in ((1, CELLS[1]), (1, CELLS[1]), (2, CELLS[0]), (3, CELLS[2])):
        cells.end(cell)
        assert (cells.done, cells.total) == (done, 3)
    assert str(cells) == str(Forecast({})) == "done"


def test_plain_progress_is_one_line_per_event(
    plain: PlainObserver, stopwatch: Stopwatch, capsys: Capture
) -> None:
    plain.note("removed 2 containers that a crashed run had left")
    plain.job_started(JOB)
    plain.phase_began("load", None)
    plain.phase_began("steady", CELLS[0])
    stopwatch.now += 10
    plain.cell_ended(CELLS[0], record_of(latency_median_s=0.0123))
    plain.cell_ended(CELLS[1], record_of(1, "failed", reason="ValueError: no\nmore lines"))
    plain.cell_ended(CELLS[2], record_of(2, "timeout", reason="not done after 5 s"))
    assert capsys.readouterr().err.splitlines() == [
        "removed 2 containers that a crashed run had left",
        f"{JOB.id}: 3 cells",
        f"[1/3] {CELLS[0].id}: median 12.3 ms, about 30s left",
        f"[2/3] {CELLS[1].id}: failed (ValueError: no), about 13s left",
        f"[3/3] {CELLS[2].id}: timeout (not done after 5 s), done",
    ]


def test_reasons_do_not_steer_the_terminal(
    plain: PlainObserver, stopwatch: Stopwatch, capsys: Capture
) -> None:
    plain.note("a \x1b]0;title\x07")
    plain.cell_ended(CELLS[0], record_of(0, "failed", reason="\x1b[2Jgone\rand more"))
    printed = capsys.readouterr().err
    assert printed.startswith("a \\u001b]0;title\\u0007\n")
    assert "(\\u001b[2Jgone\\rand more)" in printed
    with live(stopwatch) as (observer, text):
        observer.note("a \x1b]0;title\x07")
    assert "\\u001b]0;title" in text.getvalue()
    assert "\x1b]0;" not in text.getvalue()


def test_live_progress_shows_cell_phase_count_and_time_left(stopwatch: Stopwatch) -> None:
    with live(stopwatch) as (observer, text):
        observer.job_started(JOB)
        observer.phase_began("load", None)
        observer.phase_began("steady", CELLS[1])
        observer._progress.refresh()
        stopwatch.now += 10
        observer.cell_ended(CELLS[0], record_of(latency_median_s=0.5))
    shown = text.getvalue()
    assert re.search(r"0/3 b2-s8\S* steady", shown)
    assert "1/3 median 500 ms" in shown
    assert "1/3 about 30s left" in shown


def test_live_progress_learns_between_events(stopwatch: Stopwatch) -> None:
    with live(stopwatch) as (observer, text):
        observer.job_started(JOB)
        stopwatch.now += 5
        observer._progress.refresh()
        assert "0/3 about 35s left" in text.getvalue()
        stopwatch.now += 600
        observer._progress.refresh()
    assert "0/3 about 16m" in text.getvalue()


STEP = "building cpu: step 3/18, pip install --no-cache-dir …, 12s"


def test_a_build_is_one_line_in_place_on_a_terminal(stopwatch: Stopwatch) -> None:
    with live(stopwatch, width=80) as (observer, text):
        for step in ("building cpu: step 2/18, FROM python, 3s", STEP):
            observer.image_step(step)
            observer._progress.refresh()
        observer.job_started(JOB)
    assert "0/3 building cpu: step 3/18, 12s" in text.getvalue()
    assert "building" not in text.getvalue().splitlines()[-1]


def test_a_run_of_many_jobs_does_not_outgrow_the_screen(stopwatch: Stopwatch) -> None:
    cells = [fake_cell(model=f"model-{number}") for number in range(50)]
    with live(stopwatch) as (observer, text):
        observer.run_started({cell.id: 1 for cell in cells})
        for cell in cells:
            job = a_job([cell])
            observer.job_started(job)
            observer.cell_ended(cell, record_for(job, cell, latency_median_s=0.1))
        assert len(observer._progress.tasks) <= 3
    assert all(cell.job_id in text.getvalue() for cell in cells)


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        ({"latency_median_s": 0.9996}, "median 1,000 ms"),
        ({"status": "lost", "reason": "died\nby SIGKILL"}, "lost (died)"),
    ],
)
def test_a_record_in_few_words(
    plain: PlainObserver, capsys: Capture, outcome: Mapping[str, object], text: str
) -> None:
    plain.cell_ended(CELLS[0], record_for(JOB, CELLS[0], **outcome))
    assert f"[1/3] {CELLS[0].id}: {text}, about" in capsys.readouterr().err


def test_a_reason_is_shown_once(plain: PlainObserver, capsys: Capture) -> None:
    plain.note("no reference of bert-tiny: no such class", reason("said", text="no such class"))
    failed = [("failed", "no such class"), ("failed", "no memory"), ("failed", "no memory")]
    for status, text in failed:
        plain.cell_ended(CELLS[0], record_for(JOB, CELLS[0], status=status, reason=text))
    planned = {"status": "unsupported", "reason": "no kernels", "phase": "plan"}
    plain.cell_ended(CELLS[0], record_for(JOB, CELLS[0], **planned))
    verdicts = [
        line.partition(": ")[2].rpartition(",")[0]
        for line in capsys.readouterr().err.splitlines()[1:]
    ]
    assert verdicts == ["failed", "failed (no memory)", "failed", "unsupported"]


def test_quiet_progress_prints_nothing(capsys: Capture) -> None:
    with show_progress(quiet=True) as observer:
        assert isinstance(observer, QuietObserver)
        observer.note("a note")
        observer.run_started(estimates(10, 10, 20))
        observer.job_started(JOB)
        observer.phase_began("load", None)
        observer.cell_visited(CELLS[0], JOB)
        observer.cell_ended(CELLS[0], record_of())
    assert capsys.readouterr() == ("", "")


def test_progress_goes_to_stderr_in_plain_lines_unless_it_is_a_terminal(capsys: Capture) -> None:
    with show_progress(quiet=False) as observer:
        observer.note("a note " + "x" * 200)
    assert capsys.readouterr() == ("", "a note " + "x" * 200 + "\n")
