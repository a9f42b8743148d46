"""Turns of launches that are loaded together: one works, the others wait.

A block is one burst of each, in random order; the next block has the opposite order, so that none
comes first more often than another. Neighbouring bursts, which are compared, are those of a block.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from orchestrator.planning.estimate import FEWEST_BLOCKS, bursts_of
from orchestrator.running.launch import FollowedLaunch
from runner.contract.cell import QuestionKey
from runner.contract.job import Measure

LEAST_PATIENCE_S = 30.0
PATIENCE_FACTOR = 20
"""The most that a burst may take, by the time of the one before."""
_T = TypeVar("_T")


@dataclass
class Turns:
    """Conducts launches in their turns, question by question."""

    measure: Measure
    chance: random.Random
    clock: Callable[[], float] = time.monotonic

    def take(self, launches: Sequence[FollowedLaunch], questions: Sequence[QuestionKey]) -> None:
        """Take the bursts of all launches until each has ended; all wait or have ended already.

        Launches come to the questions in this order, and not each to all of them.
        """
        while waiting := {launch.question for launch in launches} - {None}:
            first = next(question for question in questions if question in waiting)
            here = [launch for launch in launches if launch.question == first]
            self._take_bursts(here, first)
            for launch in here:
                if launch.question == first:
                    launch.go_on()

    def _take_bursts(self, launches: Sequence[FollowedLaunch], question: QuestionKey) -> None:
        """Blocks of bursts until each has its share of time, or has spent it.

        A launch whose cell fails in mid-burst waits at its next question already.
        """
        bursts, spent = bursts_of(self.measure), dict.fromkeys(launches, 0.0)
        patience = {launch: launch.timeout_s for launch in launches}
        most_s = self.measure.max_s / self.measure.rounds
        for number, block in enumerate(blocks(launches, bursts.number, self.chance)):
            here = (spent[launch] for launch in launches if launch.question == question)
            if number >= FEWEST_BLOCKS and max(here, default=most_s) >= most_s:
                return
            for launch in block:
                if launch.question != question:
                    continue
                began = self.clock()
                launch.take_burst(bursts.length_s, patience[launch])
                taken = self.clock() - began
                spent[launch] += taken
                patience[launch] = max(LEAST_PATIENCE_S, PATIENCE_FACTOR * taken)


def blocks(items: Sequence[_T], count: int, chance: random.Random) -> Iterator[list[_T]]:
    """So many orders of the items, an even number: random ones, each followed by its opposite."""
    for _ in range(count // 2):
        order = chance.sample(items, len(items))
        yield order
        yield order[::-1]
