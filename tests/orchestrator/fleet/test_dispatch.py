"""Whatever hosts do, every unit ends exactly once, on a host that may have it, or with a reason."""

import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from orchestrator.fleet.dispatch import MOST_LOST, MOST_RETRIES, Dispatcher, Unit

CLASSES = ("a", "b", "c")
NAMES = tuple(f"h{at}" for at in range(6))
UNITS = st.lists(
    st.tuples(st.floats(0, 1800), st.frozensets(st.sampled_from(CLASSES), min_size=1)), max_size=12
)
_OUTCOMES = ("done", "lost", "lost", "refused", "died", "withdrawn")
HOSTS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(CLASSES))


def unit(name: str, estimate_s: float = 1.0, classes: str = "a") -> Unit:
    return Unit(name, estimate_s, frozenset(classes))


class Fleet(RuleBasedStateMachine):
    """Hosts join, end, lose, refuse and die at random; the dispatcher's promises are held."""

    @initialize(units=UNITS, hosts=HOSTS, seed=st.integers(0, 99))
    def begin(self, units: list[tuple[float, frozenset[str]]], hosts: Any, seed: int) -> None:
        self.units = {f"u{at}": Unit(f"u{at}", *values) for at, values in enumerate(units)}
        self.dispatcher = Dispatcher.of(self.units.values(), hosts, seed)
        self.hosts, self.alive = dict(hosts), set(hosts)
        self.busy: dict[str, Unit] = {}
        self.ended: Counter[str] = Counter()
        self.losers: dict[str, list[str]] = {name: [] for name in self.units}
        self.in_a_row: Counter[str] = Counter()
        self.barred: set[str] = set()
        self.stopped = False

    @rule(host=st.sampled_from(NAMES), class_id=st.sampled_from(CLASSES))
    def join(self, host: str, class_id: str) -> None:
        self.hosts.setdefault(host, class_id)
        self.dispatcher.join(host, self.hosts[host])
        self.alive.add(host)

    @rule()
    def assign(self) -> None:
        free = (self.alive - self.busy.keys()) | {"unknown"}
        for assignment in self.dispatcher.next(free):
            host, given = assignment.host, assignment.unit
            assert not self.stopped
            assert host in free - self.barred - self.busy.keys()
            assert self.hosts[host] in given.classes <= self.units[given.id].classes
            assert host not in self.losers[given.id]
            assert all(self.hosts[loser] == self.hosts[host] for loser in self.losers[given.id])
            assert not self.ended[given.id]
            self.busy[host] = given
        idle = self.alive - self.busy.keys() - self.barred
        assert self.stopped or not self.dispatcher.next(idle)

    @precondition(lambda self: self.busy)
    @rule(data=st.data(), outcome=st.sampled_from(_OUTCOMES))
    def end(self, data: Any, outcome: str) -> None:
        host = data.draw(st.sampled_from(sorted(self.busy)))
        given = self.busy.pop(host)
        if outcome == "done":
            assert self.dispatcher.done(host).id == given.id
            self.ended[given.id] += 1
            self.in_a_row[host] = 0
        elif outcome == "refused":
            assert self.dispatcher.refused(host, "no image").id == given.id
            self.barred.add(host)
        elif outcome == "withdrawn":
            assert self.dispatcher.withdraw(host, "busy").id == given.id
        else:
            assert self.dispatcher.lost(host, "silent").id == given.id
            self.losers[given.id].append(host)
            self.in_a_row[host] += 1
            if self.in_a_row[host] >= MOST_LOST:
                self.barred.add(host)
            if outcome == "died":
                self.alive.discard(host)

    @rule(data=st.data())
    def die_idle(self, data: Any) -> None:
        if idle := sorted(self.alive - self.busy.keys()):
            self.alive.discard(data.draw(st.sampled_from(idle)))

    @rule()
    def give_up(self) -> None:
        for given_up in self.dispatcher.give_up(self.alive | {"unknown"}):
            assert given_up.reason
            self.ended[given_up.unit.id] += 1

    @precondition(lambda self: not self.stopped)
    @rule(rarely=st.integers(0, 5))
    def stop(self, rarely: int) -> None:
        if not rarely:
            self.stopped = True
            self.dispatcher.stop("the budget is spent")

    @invariant()
    def nothing_twice(self) -> None:
        assert all(count == 1 for name, count in self.ended.items() if count)
        assert all(len(hosts) <= MOST_RETRIES + 1 for hosts in self.losers.values())
        assert self.dispatcher.busy == self.busy
        held = [held.id for held in self.busy.values()]
        assert len(held) == len(set(held))
        assert not any(self.ended[name] for name in held)

    def teardown(self) -> None:
        if not hasattr(self, "dispatcher"):
            return
        for _ in range(len(self.units) + 2):
            self.give_up()
            self.assign()
            for host in sorted(self.busy):
                self.ended[self.busy.pop(host).id] += 1
                self.dispatcher.done(host)
        assert self.dispatcher.is_over
        assert self.ended == Counter(dict.fromkeys(self.units, 1))


TestFleet = Fleet.TestCase
TestFleet.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


def test_the_longest_tenth_first_and_the_rest_by_seed() -> None:
    units = [unit(f"u{at:02}", float(at)) for at in range(20)]

    def order(seed: int) -> list[str]:
        dispatcher, names = Dispatcher.of(units, {"h": "a"}, seed), []
        while given := dispatcher.next({"h"}):
            names.append(dispatcher.done(given[0].host).id)
        return names

    assert order(1)[:2] == order(2)[:2] == ["u19", "u18"]
    assert order(1) == order(1) != order(2)
    assert sorted(order(1)) == [one.id for one in units]


def test_a_host_of_two_queues_takes_the_one_with_most_work_per_host() -> None:
    units = [unit("both", 30.0, "ab"), unit("alone", 20.0, "a")]
    dispatcher = Dispatcher.of(units, {"h": "a", "i": "b"}, 0)
    assert dispatcher.next({"h"})[0].unit.id == "alone"
    alone = Dispatcher.of(units, {"h": "a", "i": "b"}, 0)
    alone.give_up({"h"})
    assert alone.next({"h"})[0].unit.id == "both"


def test_a_lost_unit_comes_first_on_another_host_and_at_most_twice_more() -> None:
    hosts = dict.fromkeys(NAMES, "a")
    dispatcher = Dispatcher.of([unit("lost", 9.0), unit("next", 1.0)], hosts, 0)
    first = dispatcher.next({"h0"})[0].unit.id
    dispatcher.lost("h0", "silent")
    for host in NAMES[1 : MOST_RETRIES + 1]:
        assert dispatcher.next({host})[0].unit.id == first
        dispatcher.lost(host, "silent")
    assert not dispatcher.is_over
    assert [told.reason for told in dispatcher.give_up(NAMES)] == ["3 hosts lost it: silent"]


@pytest.mark.parametrize(
    ("outcome", "words"),
    [("lost", "lost by h, .*; h lost it: why"), ("refused", "no host .*; h refused it: why")],
)
def test_the_reason_of_what_is_given_up_tells_what_happened(outcome: str, words: str) -> None:
    dispatcher = Dispatcher.of([unit("u")], {"h": "a", "other": "b"}, 0)
    dispatcher.next({"h"})
    getattr(dispatcher, outcome)("h", "why")
    (given_up,) = dispatcher.give_up({"h", "other"})
    assert re.match(words, given_up.reason)
    assert dispatcher.is_over


def test_a_host_that_lacks_a_backend_gets_other_units_and_the_unit_another_host() -> None:
    of = frozenset({"x"})
    units = [Unit("cuda", 9, of, frozenset({"cuda"})), Unit("cpu", 1, of, frozenset({"cpu"}))]
    dispatcher = Dispatcher.of(units, {"a": "x", "b": "x"}, seed=1)
    (first,) = dispatcher.next(["a"])
    assert first.unit.id == "cuda"
    dispatcher.declined("a", "no driver", ["cuda"], ["cuda"], has_begun=False)
    assert [given.unit.id for given in dispatcher.next(["a"])] == ["cpu"]
    dispatcher.done("a")
    assert dispatcher.next(["a"]) == []
    assert dispatcher.give_up({"a", "b"}) == []
    assert [given.host for given in dispatcher.next(["b"])] == ["b"]
    dispatcher.declined("b", "no driver", ["cuda"], ["cuda"], has_begun=False)
    (given_up,) = dispatcher.give_up({"a", "b"})
    assert given_up.reason.endswith("b cannot do it: no driver")
    assert dispatcher.is_over


def test_a_unit_that_was_begun_stays_with_its_class() -> None:
    units = [Unit("u", 1, frozenset({"x", "y"}))]
    dispatcher = Dispatcher.of(units, {"a": "x", "b": "y"}, seed=1)
    dispatcher.next(["a"])
    dispatcher.declined("a", "no image", ["cpu"], ["cpu"], has_begun=True)
    (given_up,) = dispatcher.give_up({"a", "b"})
    assert given_up.unit.classes == {"x"}
