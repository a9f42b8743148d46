"""How long a launch may take: each stretch of its work has the whole limit."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue

import pytest

from orchestrator.attempt import Attempt, Surroundings, attempt, cause_of
from orchestrator.launchers.base import Exit, Task
from runner.cell import Limits
from tests.fakes import KeptObserver, ScriptedLauncher, measures_all
from tests.jobs import fake_cell
from tests.runs import a_plan, a_run_folder

CELL = fake_cell()
LIMIT_S = 30.0


class PacedLines(Queue[str | None]):
    """Lines that come one by one, always after the same time, which passes nowhere else."""

    def __init__(self, lines: Sequence[str | None], gap_s: float) -> None:
        super().__init__()
        self._gap_s = gap_s
        self.now = 0.0
        for line in lines:
            self.put(line)

    def get(self, block: bool = True, timeout: float | None = None) -> str | None:
        """The next line, or none within that time."""
        if timeout is not None and timeout < self._gap_s:
            self.now += timeout
            raise Empty
        self.now += self._gap_s
        return super().get(block=False)


class PacedExecution:
    """A launch that ends with its last line."""

    def __init__(self, lines: PacedLines) -> None:
        self.lines = lines
        self.killed = False

    def kill(self) -> None:
        """Note the kill."""
        self.killed = True

    def wait(self) -> Exit:
        """Well, unless it was killed."""
        return Exit(-9 if self.killed else 0, out_of_memory=False, log="")


class PacedLauncher(ScriptedLauncher):
    """A launcher whose launches print these lines."""

    def __init__(self, lines: PacedLines) -> None:
        super().__init__(measures_all)
        self._lines = lines

    @contextmanager
    def launch(self, task: Task) -> Iterator[PacedExecution]:  # type: ignore[override]
        """Print the lines."""
        yield PacedExecution(self._lines)


def phase(name: str, cell_id: str | None = None) -> str:
    return json.dumps({"event": "phase", "phase": name, "cell_id": cell_id})


def launched(results: Path, lines: Sequence[str | None], gap_s: float) -> Attempt:
    paced = PacedLines(lines, gap_s)
    folder = a_run_folder(results, a_plan([CELL], limits=Limits(cell_timeout_s=LIMIT_S)))
    job = folder.job(folder.cells, folder.nowhere)
    task = Task(
        run_id=job.run_id,
        job_id=job.id,
        backend="fake",
        limits=job.limits,
        job_file=folder.write_job(job),
        out=folder.out(job.id),
    )
    launcher = PacedLauncher(paced)
    surroundings = Surroundings(launcher, folder, KeptObserver(), lambda: paced.now)
    return attempt(job, task, surroundings)


def test_each_way_of_an_export_has_the_whole_limit(tmp_path: Path) -> None:
    made = launched(tmp_path, [*[phase("load")] * 5, None], gap_s=20)
    assert (made.timed_out, made.exit) == (False, Exit(0, out_of_memory=False, log=""))


def test_a_way_that_takes_longer_ends_the_launch(tmp_path: Path) -> None:
    made = launched(tmp_path, [phase("load"), "a stray line", None], gap_s=20)
    assert made.timed_out
    assert cause_of(made).reason == "not done after 30 s, in phase load"


@pytest.mark.parametrize(("gap_s", "in_time"), [(10, True), (20, False)])
def test_the_phases_of_a_cell_share_one_limit(tmp_path: Path, gap_s: float, in_time: bool) -> None:
    phases = [phase(name, CELL.id) for name in ("first", "warmup", "steady")]
    made = launched(tmp_path, [phase("load"), *phases, None], gap_s)
    assert made.timed_out is not in_time
