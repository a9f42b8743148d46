"""Launches that take bursts in turns, each played by a script that waits for its orders."""

import json
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from statistics import median
from typing import Any

from orchestrator.launchers.base import Exit, Task
from runner.contract.cell import Cell
from runner.contract.errors import BenchError, EngineUnavailable
from runner.contract.job import Job
from runner.contract.record.files import save_record
from runner.contract.rounds import Bursts, RoundResult, read_rounds, save_round
from tests.support.fakes import ScriptedLauncher, enter, finish, measures_all
from tests.support.records import a_round, record_for

KILLED = Exit(137, out_of_memory=False, log="")
OUT_OF_MEMORY = Exit(137, out_of_memory=True, log="")
GONE = EngineUnavailable("the engine is down", hint="start it")
KNOWN = {"recorded_at", "job", "model_spec", "status", "durations_ns"}
Takes = Callable[[Cell, int], float]
"""Milliseconds of a sample of a cell in a round."""
Play = Generator[None, Mapping[str, float], Exit]


class Interrupted(BaseException):
    """Somebody pressed Ctrl-C, or worse."""


@dataclass(frozen=True)
class Fault:
    """Strikes a launch in its first burst of a cell of that batch size."""

    ending: Exit | BaseException | None = None
    """The end of the launch, what is raised then, or None if it hangs."""
    batch_size: int = 1
    is_data: bool = False
    """True if the cell fails, which the runner records, and the next one is measured."""


@dataclass
class TakingTurns(ScriptedLauncher):
    """A launcher whose launches work when they are told to, and write down that they did."""

    takes: Takes = lambda cell, round_: 10.0
    side: str = ""
    """The name that its launches have in the log, else that of their model."""
    faults: dict[tuple[str, int], Fault] = field(default_factory=dict)
    """Faults of launches, by their name and round; each strikes once."""
    log: list[tuple[str, str, int]] = field(default_factory=list)
    """Who did what in which round: `launched`, or the batch size of a burst."""
    samples: int = 1

    def __post_init__(self) -> None:
        super().__init__(measures_all)

    @contextmanager
    def launch(self, task: Task) -> Iterator[Any]:
        job = Job.model_validate_json(task.staged()["--job"].read_bytes())
        if job.purpose != "measure":
            with super().launch(task) as execution:
                yield execution
            return
        name = self.side or job.cells[0].model
        self.launched.append(job)
        self.log.append((name, "launched", job.round))
        self.running += 1
        try:
            execution = TurnTakingExecution()
            execution.begin(self._play(name, job, task.out, execution.lines))
            yield execution
        finally:
            self.running -= 1

    def _play(self, name: str, job: Job, out: Path, lines: "Queue[str | None]") -> Play:
        enter(lines, "load")
        for cell in job.cells:
            enter(lines, "steady", cell)
            bursts = 0
            while job.takes_turns or not bursts:
                order: Mapping[str, float] = {"burst_s": 0.0}
                if job.takes_turns:
                    lines.put(json.dumps({"event": "waits", "cell_id": cell.id}))
                    order = yield
                if "burst_s" not in order:
                    break
                bursts += 1
                self.log.append((name, f"b{cell.batch_size}", job.round))
                fault = self.faults.get((name, job.round))
                if fault and fault.batch_size == cell.batch_size:
                    del self.faults[name, job.round]
                    if fault.is_data:
                        bursts = 0
                        break
                    while fault.ending is None:
                        yield
                    if isinstance(fault.ending, BaseException):
                        raise fault.ending
                    lines.put(None)
                    return fault.ending
            if bursts:
                leave_round(job, cell, out, self.takes(cell, job.round), bursts, self.samples)
                lines.put(json.dumps({"event": "visited", "cell_id": cell.id}))
            else:
                save_record(record_for(job, cell, status="failed", reason="it broke"), out)
                lines.put(json.dumps({"event": "recorded", "cell_id": cell.id}))
        return finish(lines)


class TurnTakingExecution:
    """A launch that goes on when it is sent an order."""

    def __init__(self) -> None:
        self.lines: Queue[str | None] = Queue()
        self._play: Play | None = None
        self._ending: Exit | BenchError = KILLED

    def begin(self, play: Play) -> None:
        self._play = play
        self._go_on(None)

    def send(self, line: str) -> None:
        self._go_on(json.loads(line))

    def _go_on(self, order: Any) -> None:
        if self._play is None:
            return
        try:
            self._play.send(order)
        except StopIteration as end:
            self._end(end.value)
        except EngineUnavailable as error:
            self._end(error)

    def _end(self, ending: Exit | BenchError) -> None:
        self._play, self._ending = None, ending
        self.lines.put(None)

    def kill(self) -> None:
        if self._play is not None:
            self._end(KILLED)

    def wait(self) -> Exit:
        self.kill()
        if isinstance(self._ending, BenchError):
            raise self._ending
        return self._ending


def bursts_result(milliseconds: float, bursts: int = 1, samples: int = 1) -> RoundResult:
    """The result of a round of so many bursts of three queries, by the milliseconds of a sample."""
    durations = [round(samples * milliseconds * 1e6)] * 3 * bursts
    taken = Bursts(iterations=[3] * bursts, dropped=0, rest_s=0.002, clocks_hz=[None] * bursts)
    return a_round(durations, samples=samples * len(durations), bursts=taken)


def leave_round(
    job: Job, cell: Cell, out: Path, milliseconds: float, bursts: int, samples: int = 1
) -> None:
    """Leave what the runner leaves of a cell in a round of a group."""
    result = bursts_result(milliseconds, bursts, samples)
    if not job.takes_turns:
        result = result.model_copy(update={"bursts": None})
    rounds = [*read_rounds(out, cell, job.round - 1), result]
    record = record_for(
        *(job, cell),
        rounds=len(rounds),
        round_iterations=[len(one.durations_ns) for one in rounds],
        round_medians=[median(one.durations_ns) / 1e9 for one in rounds],
        durations_ns=[value for one in rounds for value in one.durations_ns],
        grade="A",
    )
    columns = record.model_dump(mode="json", exclude_none=True, exclude=KNOWN)
    save_round(result.model_copy(update={"so_far": columns}), out, cell, job.round)
