"""Launches that are loaded together work one at a time, in blocks, within their share of time."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.planning.estimate import (
    FEWEST_BLOCKS,
    LEAST_BURSTS,
    LONGEST_BURST_S,
    SHORTEST_BURST_S,
    bursts_of,
)
from orchestrator.running.launch import FollowedLaunch
from orchestrator.running.turns import LEAST_PATIENCE_S, PATIENCE_FACTOR, Turns, blocks
from runner.contract.cell import QuestionKey
from runner.contract.job import PROFILES, Measure
from tests.support.jobs import FAST, fake_cell

ONE, TWO = (fake_cell(size).question for size in (1, 2))
TIMEOUT_S = 50.0


@given(st.integers(1, 8), st.integers(1, 20), st.integers())
def test_each_is_once_in_a_block_and_as_often_before_another_as_behind_it(
    count: int, pairs: int, seed: int
) -> None:
    orders = [*blocks(range(count), 2 * pairs, random.Random(seed))]
    assert len(orders) == 2 * pairs
    assert all(sorted(order) == [*range(count)] for order in orders)
    for one in range(count):
        for other in range(one):
            first = sum(order.index(one) < order.index(other) for order in orders)
            assert first == pairs


def test_orders_are_those_of_the_seed() -> None:
    drawn = {seed: [*blocks("abcd", 8, random.Random(seed))] for seed in (1, 2)}
    assert drawn[1] == [*blocks("abcd", 8, random.Random(1))]
    assert drawn[1] != drawn[2]


@pytest.mark.parametrize(
    ("min_s", "rounds", "count", "length_s"),
    [
        (0.0, 3, 8, 0.1),
        (3.0, 3, 8, 0.125),
        (4.8, 3, 8, 0.2),
        (5.1, 3, 10, 0.2),
        (60.0, 3, 100, 0.2),
        (60.0, 60, 8, 0.125),
    ],
)
def test_a_launch_takes_an_even_number_of_bursts_for_its_share_of_time(
    min_s: float, rounds: int, count: int, length_s: float
) -> None:
    bursts = bursts_of(FAST.model_copy(update={"min_s": min_s, "rounds": rounds}))
    assert bursts == (count, pytest.approx(length_s))


@pytest.mark.parametrize("measure", PROFILES.values())
def test_every_profile_has_bursts(measure: Measure) -> None:
    bursts = bursts_of(measure)
    assert bursts.number >= LEAST_BURSTS
    assert bursts.number % 2 == 0
    assert SHORTEST_BURST_S <= bursts.length_s <= LONGEST_BURST_S


class Waiting:
    """A launch that takes its bursts in a scripted time, and fails or dies in one of them."""

    def __init__(
        self,
        bench: "Bench",
        name: str,
        seconds: float,
        questions: Sequence[QuestionKey] = (ONE,),
        fails_in: int | None = None,
        dies_in: int | None = None,
    ) -> None:
        self._bench, self.name, self._seconds = bench, name, seconds
        self._left = [*questions]
        self._fails_in, self._dies_in = fails_in, dies_in
        self._bursts = 0
        self.patience: list[float] = []

    timeout_s = TIMEOUT_S

    @property
    def question(self) -> QuestionKey | None:
        return self._left[0] if self._left else None

    def go_on(self) -> None:
        self._note(is_burst=False)
        del self._left[0]

    def take_burst(self, burst_s: float, limit_s: float) -> None:
        assert SHORTEST_BURST_S <= burst_s <= LONGEST_BURST_S
        self._note(is_burst=True)
        self.patience.append(limit_s)
        self._bench.now += self._seconds
        self._bursts += 1
        if self._bursts == self._fails_in:
            del self._left[0]
        if self._bursts == self._dies_in:
            self._left.clear()

    def _note(self, *, is_burst: bool) -> None:
        assert self.question is not None, "it has ended"
        self._bench.turns.append((self.name, self.question, is_burst))


class Bench:
    """Launches in their turns, and a clock that goes on while they work."""

    def __init__(self) -> None:
        self.now = 0.0
        self.turns: list[tuple[str, QuestionKey, bool]] = []

    def take(self, *launches: Waiting, seed: int = 0, **measure: Any) -> None:
        chosen = FAST.model_copy(update={"max_s": 100.0, "rounds": 1} | measure)
        turns = Turns(chosen, random.Random(seed), lambda: self.now)
        turns.take(cast("list[FollowedLaunch]", [*launches]), [ONE, TWO])
        assert [launch.question for launch in launches] == [None] * len(launches)

    def bursts(self, question: QuestionKey = ONE) -> list[str]:
        return [name for name, of, is_burst in self.turns if is_burst and of == question]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_neighbouring_bursts_are_those_of_a_block(bench: Bench) -> None:
    bench.take(*(Waiting(bench, name, 0.2) for name in "abc"))
    taken = bench.bursts()
    assert Counter(taken) == dict.fromkeys("abc", LEAST_BURSTS)
    assert all(sorted(taken[at : at + 3]) == [*"abc"] for at in range(0, len(taken), 3))
    assert [is_burst for *_, is_burst in bench.turns[-3:]] == [False] * 3


def test_questions_come_one_behind_the_other_and_not_each_to_all(bench: Bench) -> None:
    both, last = Waiting(bench, "both", 0.2, (ONE, TWO)), Waiting(bench, "last", 0.2, (TWO,))
    bench.take(last, both)
    assert bench.bursts(ONE) == ["both"] * LEAST_BURSTS
    assert Counter(bench.bursts(TWO)) == {"both": LEAST_BURSTS, "last": LEAST_BURSTS}
    questions = [question for _, question, _ in bench.turns]
    assert questions == sorted(questions, key=[ONE, TWO].index)


@pytest.mark.parametrize(
    ("seconds", "max_s", "blocks_taken"),
    [(1.0, 3.0, 3), (1.0, 2.5, 3), (50.0, 3.0, FEWEST_BLOCKS), (0.1, 3.0, LEAST_BURSTS)],
)
def test_a_spent_time_ends_all_with_equally_many_bursts(
    bench: Bench, seconds: float, max_s: float, blocks_taken: int
) -> None:
    """The slowest one's time counts, and those of questions before do not."""
    slow, quick = (
        Waiting(bench, name, took, (ONE, TWO)) for name, took in (("slow", seconds), ("quick", 0.1))
    )
    bench.take(slow, quick, max_s=2 * max_s, rounds=2)
    for question in (ONE, TWO):
        assert Counter(bench.bursts(question)) == {"slow": blocks_taken, "quick": blocks_taken}


@pytest.mark.parametrize("seconds", [0.2, 1000.0], ids=["at once", "hanging"])
def test_who_dies_leaves_the_others_their_bursts(bench: Bench, seconds: float) -> None:
    bench.take(Waiting(bench, "dies", seconds, (ONE, TWO), dies_in=1), Waiting(bench, "good", 0.2))
    assert Counter(bench.bursts()) == {"dies": 1, "good": LEAST_BURSTS}
    assert bench.bursts(TWO) == []


def test_whose_cell_fails_waits_at_the_next_question_for_the_others(bench: Bench) -> None:
    fails = Waiting(bench, "fails", 0.2, (ONE, TWO), fails_in=3)
    bench.take(fails, Waiting(bench, "good", 0.2, (ONE, TWO)))
    assert Counter(bench.bursts(ONE)) == {"fails": 3, "good": LEAST_BURSTS}
    taken = bench.bursts(TWO)
    assert Counter(taken) == {"fails": LEAST_BURSTS, "good": LEAST_BURSTS}
    assert all(sorted(taken[at : at + 2]) == ["fails", "good"] for at in range(0, len(taken), 2))


@pytest.mark.parametrize("seconds", [0.2, 10.0])
def test_patience_is_the_timeout_first_and_follows_from_the_burst_before(
    bench: Bench, seconds: float
) -> None:
    launch = Waiting(bench, "only", seconds)
    bench.take(launch)
    first, *later = launch.patience
    assert first == TIMEOUT_S
    assert set(later) == {max(LEAST_PATIENCE_S, PATIENCE_FACTOR * seconds)}
