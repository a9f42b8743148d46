"""The dispatcher: which host measures what next. It has no clock and no thread.

Work comes in units: cells that are compared with each other, so that one host measures them all.
Every unit ends exactly once: it is done, or it is given up with the reason.
"""

import random
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

LONGEST_SHARE = 0.1
"""The share of the units that begin first, longest first. The others come in random order, which
keeps drift from looking like an axis."""
MOST_RETRIES = 2
"""Times that a unit is tried again on another host."""
MOST_LOST = 2
"""Orders that a host may lose one after the other before it gets no more."""


@dataclass(frozen=True)
class Unit:
    """Work that one host does as a whole."""

    id: str
    estimate_s: float
    """Seconds that it may take."""
    classes: frozenset[str]
    """The classes of hosts that can do it."""
    needs: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    """Hosts that lost it or declined some of it."""
    losses: int = 0

    @property
    def demand(self) -> "_Demand":
        """The class that a host must be of, and the backends that it must have."""
        return self.classes, self.needs


_Demand = tuple[frozenset[str], frozenset[str]]
"""Classes of which a host is, and backends of which it lacks none."""


class Assignment(NamedTuple):
    """A unit for a host."""

    host: str
    unit: Unit


class GivenUp(NamedTuple):
    """A unit that no host will do any more."""

    unit: Unit
    reason: str


@dataclass
class _HostState:
    class_id: str
    lost: int = 0
    """Orders that it lost since the last one that ended well."""
    barred: str | None = None
    began_as: str = ""
    lacks: frozenset[str] = frozenset()

    def meets(self, demand: _Demand) -> bool:
        classes, needs = demand
        return self.class_id in classes and not needs & self.lacks


@dataclass
class Dispatcher:
    """Gives units to free hosts, again after a loss, until each has ended."""

    seed: int
    _hosts: dict[str, _HostState] = field(default_factory=dict)
    _dead: set[str] = field(default_factory=set)
    _alive: set[str] = field(default_factory=set)
    _able: Counter[tuple[str, frozenset[str]]] | None = None
    """Hosts that get more, by class and what they lack; None if they have to be counted again."""
    busy: dict[str, Unit] = field(default_factory=dict)
    _queues: dict[_Demand, deque[Unit]] = field(default_factory=dict)
    _left_s: dict[_Demand, float] = field(default_factory=dict)
    _retries: dict[_Demand, list[Unit]] = field(default_factory=dict)
    _faults: dict[str, str] = field(default_factory=dict)
    """The last loss or refusal of a unit, by the unit's id."""
    _given_up: list[GivenUp] = field(default_factory=list)
    _stopped: str | None = None

    @classmethod
    def of(cls, units: Iterable[Unit], hosts: Mapping[str, str], seed: int) -> "Dispatcher":
        """A dispatcher of these units for hosts by name, each with its class."""
        dispatcher = cls(seed)
        for name, class_id in sorted(hosts.items()):
            dispatcher.join(name, class_id)
        by_demand: dict[_Demand, list[Unit]] = {}
        for unit in units:
            by_demand.setdefault(unit.demand, []).append(unit)
        for demand, group in by_demand.items():
            dispatcher._queues[demand] = deque(_ordered(group, seed))
            dispatcher._left_s[demand] = sum(unit.estimate_s for unit in group)
        return dispatcher

    @property
    def is_over(self) -> bool:
        """True if every unit has ended, and those that were given up have been told."""
        return not (self.busy or self._retries or self._given_up or any(self._queues.values()))

    def join(self, host: str, class_id: str) -> None:
        """A host is there, for the first time or again; what it lost before still counts."""
        self._hosts.setdefault(host, _HostState(class_id)).class_id = class_id
        self._dead.discard(host)
        self._able = None

    def bar(self, host: str, reason: str) -> None:
        self._hosts[host].barred = reason
        self._able = None

    def stop(self, reason: str) -> None:
        self._stopped = reason

    def next(self, free: Collection[str]) -> list[Assignment]:
        """A unit for each free host, as far as there are; one that never joined gets none."""
        assignments: list[Assignment] = []
        if self._stopped or not (self._retries or any(self._queues.values())):
            return assignments
        for name in sorted(free):
            host = self._hosts.get(name)
            if host is None or host.barred or name in self.busy:
                continue
            unit = self._take(name, host)
            if unit is not None:
                host.began_as = host.class_id
                self.busy[name] = unit
                assignments.append(Assignment(name, unit))
        return assignments

    def give_up(self, alive: Collection[str]) -> list[GivenUp]:
        """The units that no host will do any more, each once; `alive` hosts are idle or busy."""
        if alive != self._alive or self._able is None:
            self._alive, self._able = set(alive), None
            self._dead = self._hosts.keys() - self._alive
        given_up, self._given_up = self._given_up, []
        for key, queue in self._queues.items():
            if queue and (self._stopped or not self._able_count(key)):
                given_up += [GivenUp(unit, self._reason(unit)) for unit in queue]
                queue.clear()
                self._left_s[key] = 0.0
        waiting: dict[_Demand, list[Unit]] = {}
        for key, units in self._retries.items():
            for unit in units:
                if self._has_another(unit):
                    waiting.setdefault(key, []).append(unit)
                else:
                    given_up.append(GivenUp(unit, self._reason(unit)))
        self._retries = waiting
        return given_up

    def done(self, host: str) -> Unit:
        """The host's order ended by itself."""
        self._hosts[host].lost = 0
        return self.busy.pop(host)

    def refused(self, host: str, reason: str) -> Unit:
        """The host did not begin its order: it gets no more, and another host gets the unit."""
        unit = self.busy.pop(host)
        self.bar(host, reason)
        self._again(unit, f"{host} refused it: {reason}")
        return unit

    def withdraw(self, host: str, fault: str) -> Unit:
        """The host has not begun its order: it may get it later, or another host now."""
        unit = self.busy.pop(host)
        self._again(unit, fault)
        return unit

    def declined(
        self,
        host: str,
        reason: str,
        backends: Collection[str],
        needs: Collection[str],
        *,
        has_begun: bool,
    ) -> Unit:
        """The host lacks backends after all: another host gets the unit, of which `needs` are left.

        If some of it was measured here, hosts of its class alone may finish it.
        """
        state = self._hosts[host]
        state.lost, state.lacks = 0, state.lacks | set(backends)
        self._able = None
        unit = self.busy.pop(host)
        classes = frozenset({state.began_as}) if has_begun else unit.classes
        excluded = unit.excluded | {host}
        again = replace(unit, classes=classes, needs=frozenset(needs), excluded=excluded)
        self._again(again, f"{host} cannot do it: {reason}")
        return unit

    def lost(self, host: str, reason: str) -> Unit:
        """The host's order ended in no known way; another host of its class gets the unit."""
        state = self._hosts[host]
        unit = self.busy.pop(host)
        state.lost += 1
        if state.lost >= MOST_LOST:
            self.bar(host, f"lost {state.lost} orders in a row")
        again = replace(
            unit,
            classes=frozenset({state.began_as}),
            excluded=unit.excluded | {host},
            losses=unit.losses + 1,
        )
        if again.losses > MOST_RETRIES:
            self._given_up.append(GivenUp(again, f"{again.losses} hosts lost it: {reason}"))
        else:
            self._again(again, f"{host} lost it: {reason}")
        return unit

    def _again(self, unit: Unit, fault: str) -> None:
        self._faults[unit.id] = fault
        self._retries.setdefault(unit.demand, []).append(unit)

    def _take(self, name: str, host: _HostState) -> Unit | None:
        """The next unit for this host: one to be tried again, else of the longest queue."""
        for demand, units in self._retries.items():
            if not host.meets(demand):
                continue
            for at, unit in enumerate(units):
                if name not in unit.excluded:
                    del units[at]
                    if not units:
                        del self._retries[demand]
                    return unit
        demands = [demand for demand, queue in self._queues.items() if queue and host.meets(demand)]
        if not demands:
            return None
        # The one with the most seconds of work before each host that can do it.
        demand = max(demands, key=lambda one: self._left_s[one] / max(1, self._able_count(one)))
        unit = self._queues[demand].popleft()
        self._left_s[demand] -= unit.estimate_s
        return unit

    def _able_count(self, demand: _Demand) -> int:
        if self._able is None:
            self._able = Counter(
                (host.class_id, host.lacks)
                for name, host in self._hosts.items()
                if self._is_able(name)
            )
        classes, needs = demand
        return sum(
            count
            for (class_id, lacks), count in self._able.items()
            if class_id in classes and not needs & lacks
        )

    def _is_able(self, name: str) -> bool:
        return name not in self._dead and not self._hosts[name].barred

    def _has_another(self, unit: Unit) -> bool:
        if self._stopped:
            return False
        without = sum(
            self._is_able(name) and self._hosts[name].meets(unit.demand) for name in unit.excluded
        )
        return self._able_count(unit.demand) > without

    def _reason(self, unit: Unit) -> str:
        if self._stopped:
            return self._stopped
        fault = self._faults.get(unit.id)
        if unit.losses:
            hosts = ", ".join(sorted(unit.excluded))
            return f"lost by {hosts}, and no other host of the class is there; {fault}"
        none = "no host that can measure it is there any more"
        return f"{none}; {fault}" if fault else none


def _ordered(units: Sequence[Unit], seed: int) -> Iterator[Unit]:
    """The longest tenth first, longest first; the rest in an order that the seed decides."""
    chance = random.Random(seed)  # noqa: S311 - an order, not a secret
    longest = sorted(units, key=lambda unit: (-unit.estimate_s, unit.id))
    first = round(len(units) * LONGEST_SHARE)
    rest = sorted(longest[first:], key=lambda unit: unit.id)
    chance.shuffle(rest)
    yield from longest[:first]
    yield from rest
