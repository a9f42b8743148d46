"""Candidates side by side: in each round all of a group are launched anew, and compared.

A candidate is one job of one run. A round is the unit of replication: the comparison ends after a
planned number of them, once each ratio is decided, and each candidate's record is that of its
rounds so far. Cells that agree in all but what is compared, such as the runtime, are of one
question.
"""

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import combinations, starmap
from typing import Protocol

from analysis.statistics.paired import PairedRatio, round_ratio
from orchestrator.running.due_launches import DueGroup, DueLaunch
from orchestrator.running.execute_job import JobExecution
from orchestrator.running.folder import RunFolder
from orchestrator.running.launch import FollowedLaunch
from orchestrator.running.turns import Turns
from runner.contract.cell import Cell, QuestionKey
from runner.contract.errors import BenchError, EngineUnavailable, ImageError, Unavailable
from runner.contract.job import Job
from runner.contract.reasons import Reason

_BurstTimes = Sequence[Sequence[float]]
"""The medians of the bursts of each round."""


class MeasuredSide(Protocol):
    """A run under way, some of whose jobs are candidates."""

    folder: RunFolder
    refused: set[Cell]
    """The cells that cannot be launched, whoever gives them a verdict."""

    def job(self, due: DueLaunch) -> Job:
        """The job that is due; raises `EngineUnavailable` where none was there or came back."""

    def job_execution(self, job: Job, sharing: int) -> JobExecution:
        """The execution of a job, which has all that its launches read."""

    def await_engine(self, cells: Sequence[Cell], error: EngineUnavailable) -> None:
        """Wait until the engine is back; raises the error if it does not come."""

    def refuse(self, cells: Sequence[Cell], error: BenchError) -> None:
        """Give cells that cannot be launched a verdict, or leave them to those who may."""

    def finish(self, cell: Cell, rounds: int) -> None:
        """Make the record of so many rounds."""

    def break_off(self, due: DueLaunch, cause: Reason) -> None:
        """Give cells that are launched no more a verdict: by the rounds that they had, if any."""

    def note_failures(self, cells: Iterable[Cell]) -> None:
        """Remember whether one of these cells failed, for those who want to stop then."""

    def stop_reason(self) -> Reason | None:
        """The reason to launch nothing more; None if there is none."""


@dataclass(frozen=True)
class _Candidate:
    """The cells of one job of one run."""

    side: MeasuredSide
    cells: tuple[Cell, ...]

    @property
    def left(self) -> dict[QuestionKey, Cell]:
        """The cells that can be launched and have no record, by question."""
        folder, refused = self.side.folder, self.side.refused
        return {
            cell.question: cell
            for cell in self.cells
            if cell not in refused and folder.record_of(cell) is None
        }


class GroupExecution:
    """A group under way."""

    def __init__(
        self, due: DueGroup, sides: Sequence[MeasuredSide], threshold: float, among: int = 1
    ) -> None:
        """`threshold` is the least relative change that matters.

        Each ratio is one `among` so many that are judged together.
        """
        self._group, self._threshold, self._among = due.group, threshold, among
        self._sides = sides
        self._candidates = [_Candidate(side, job.cells) for job in due.jobs for side in sides]
        cells = (cell for job in due.jobs for cell in job.cells)
        self._questions = [*dict.fromkeys(cell.question for cell in cells)]

    def take_rounds(self, last: int) -> None:
        """Take the rounds up to this one that cells still miss; those that are decided end."""
        while (done := self._rounds_done()) and (round_ := 1 + min(done.values())) <= last:
            explanation = next(filter(None, (side.stop_reason() for side in self._sides)), None)
            if explanation:
                self._break_off(done, explanation)
            else:
                self._take(round_, [one for one, rounds in done.items() if rounds < round_])
            for candidate in self._candidates:
                candidate.side.note_failures(candidate.cells)

    def _break_off(self, done: Mapping[QuestionKey, int], explanation: Reason) -> None:
        for candidate in self._candidates:
            for question, cell in candidate.left.items():
                due = DueLaunch((cell,), done[question] + 1)
                candidate.side.break_off(due, explanation)

    def _rounds_done(self) -> dict[QuestionKey, int]:
        """The rounds that all cells have of each question with cells left, once decided ones end.

        What one has beyond another is measured anew, together: by a launch that died in mid-round,
        or a run that was killed. A cell that ended without a measurement leaves the others theirs.
        """
        done = {}
        for question in self._questions:
            known = [
                (one.side, cell, one.side.folder.record_of(cell))
                for one in self._candidates
                for cell in one.cells
                if cell.question == question and cell not in one.side.refused
            ]
            if all(record is not None for *_, record in known):
                continue
            alive = [one for one in known if one[2] is None or one[2].status == "ok"]
            for side, cell, record in alive:
                if record is not None:
                    side.folder.forget([cell])
            rounds = min(side.folder.rounds.count(cell) for side, cell, _ in alive)
            for side, cell, _ in alive:
                side.folder.rounds.drop([cell], kept=rounds)
            if not self._ends([(side, cell) for side, cell, _ in alive], rounds):
                done[question] = rounds
        return done

    def _ends(self, alive: Sequence[tuple[MeasuredSide, Cell]], rounds: int) -> bool:
        """Make records of so many rounds if that was planned as a look and decides."""
        if rounds not in self._group.looks:
            return False
        times = [
            [one.sample_medians_ns for one in side.folder.rounds.read(cell, rounds)]
            for side, cell in alive
        ]
        is_last = rounds == self._group.looks[-1]
        ends = is_last or all(starmap(self._is_decided, combinations(times, 2)))
        for side, cell in alive if ends else ():
            side.finish(cell, rounds)
        return ends

    def _is_decided(self, first: _BurstTimes, second: _BurstTimes) -> bool:
        ratios = [one for one in map(round_ratio, first, second) if one is not None]
        if len(ratios) < len(first):
            return False
        ratio = PairedRatio.of(ratios, self._group.looks)
        return ratio.is_decided(self._threshold, self._among)

    def _take(self, round_: int, questions: Collection[QuestionKey]) -> None:
        """Launch whatever misses the round once; what launches leave behind is still missing."""
        seed = f"{self._sides[0].folder.run.seed} {self._group.jobs} {round_}"
        chance = random.Random(seed)  # noqa: S311 - an order, not a secret
        missing = {
            one: [cell for question, cell in one.left.items() if question in questions]
            for one in self._candidates
        }
        try:
            due = [*self._due(missing, round_)]
            order = chance.sample(due, len(due))
            if self._group.together:
                self._take_turns(order, chance)
            else:
                for one in order:
                    one.execute()
        except EngineUnavailable as error:
            for side in self._sides:
                cells = [cell for one in missing if one.side is side for cell in missing[one]]
                if cells:
                    _await_engine(side, cells, round_, error)

    def _due(self, missing: Mapping[_Candidate, Sequence[Cell]], round_: int) -> Iterator["_Due"]:
        """The executions of what is missing, all made before the first one is launched."""
        for candidate, cells in missing.items():
            if not cells:
                continue
            side = candidate.side
            order = sorted(cells, key=lambda cell: self._questions.index(cell.question))
            try:
                job = side.job(DueLaunch(tuple(order), round_))
            except (Unavailable, ImageError, EngineUnavailable) as error:
                side.refuse(cells, error)
                continue
            try:
                yield _Due(side, side.job_execution(job, len(self._candidates)))
            except (Unavailable, ImageError) as error:
                side.refuse(cells, error)

    def _take_turns(self, order: Sequence["_Due"], chance: random.Random) -> None:
        """Launch one behind the other, each until it waits for its first turn."""
        launches: list[FollowedLaunch] = []
        with ExitStack() as stack:
            for one in order:
                if (launch := one.launched(stack)) is not None:
                    launch.follow()
                    launches.append(launch)
            Turns(self._group.measure, chance).take(launches, self._questions)


@dataclass(frozen=True)
class _Due:
    """A candidate that is due in a round."""

    side: MeasuredSide
    execution: JobExecution

    def execute(self) -> None:
        try:
            self.execution.execute()
        except (Unavailable, ImageError) as error:
            self.side.refuse(self.execution.pending, error)

    def launched(self, stack: ExitStack) -> FollowedLaunch | None:
        """Launch it until the stack is unwound; None if it is refused."""
        try:
            return stack.enter_context(self.execution.launched())
        except (Unavailable, ImageError) as error:
            self.side.refuse(self.execution.pending, error)
            return None


def _await_engine(
    side: MeasuredSide, cells: Sequence[Cell], round_: int, error: EngineUnavailable
) -> None:
    try:
        side.await_engine(cells, error)
    except EngineUnavailable:
        side.refuse(side.folder.due(cells, round_), error)
