"""Progress of a run on many hosts, as rows on a terminal and as lines in a log."""

import io

import pytest
from rich.console import Console

from orchestrator.commands.measure.fleet.progress import LiveFleetObserver, PlainFleetObserver
from orchestrator.screen.streams import after_work
from tests.orchestrator.commands.program.test_progress import CELLS, JOB, Stopwatch, record_of

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def stopwatch() -> Stopwatch:
    return Stopwatch()


class Screen:
    """A terminal with a row for each host, drawn when a test looks."""

    def __init__(self, stopwatch: Stopwatch, width: int = 120) -> None:
        self._console = Console(
            file=io.StringIO(), force_terminal=True, width=width, markup=False, emoji=False
        )
        self.observer = LiveFleetObserver(self._console, stopwatch)
        self.observer.run_started({cell.id: 10.0 for cell in CELLS})

    def rows(self) -> list[str]:
        console = Console(file=io.StringIO(), width=self._console.width)
        with console.capture() as capture:
            console.print(self.observer._progress.get_renderable())
        return [" ".join(line.split()) for line in capture.get().splitlines()]


def test_each_host_has_a_row_with_its_job_its_cell_and_its_rest(stopwatch: Stopwatch) -> None:
    screen = Screen(stopwatch)
    row = screen.observer.on_host("lab1")
    row.job_started(JOB)
    row.phase_began("steady", CELLS[0])
    screen.observer.on_host("lab2").image_step("Step 2/9 : RUN \x1b[31mpip\nmore")
    everything, first, second = screen.rows()
    assert everything.startswith("all cells")
    assert first.startswith("lab1")
    assert f"0/3 {JOB.id}: {CELLS[0].shape} steady" in first
    assert "Step 2/9 : RUN" in second
    assert "\x1b" not in second
    screen.observer.order_ended("lab1", None)
    screen.observer.order_ended("lab2", "the host is \x07gone")
    screen.observer.order_ended("lab3", None)
    _, first, second = screen.rows()
    assert first.endswith("idle")
    assert "lost: the host is" in second
    assert "\x07" not in second
    assert JOB.id not in first


def test_a_log_names_the_host_of_each_line(stopwatch: Stopwatch, capsys: Capture) -> None:
    observer = PlainFleetObserver(stopwatch)
    observer.run_started({cell.id: 10.0 for cell in CELLS})
    host = observer.on_host("lab1")
    host.job_started(JOB)
    host.image_step("Step 2/9")
    host.note("a note")
    host.phase_began("steady", CELLS[0])
    host.cell_ended(CELLS[0], record_of(0))
    observer.order_ended("lab1", None)
    with after_work():
        lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"lab1: {JOB.id}: 3 cells"
    assert lines[1:3] == ["lab1: Step 2/9", "lab1: a note"]
    assert lines[3].startswith(f"[1/3] {CELLS[0].id}: ")
    assert len(lines) == 4
