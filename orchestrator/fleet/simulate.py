"""The time that units take on a fleet, by the dispatcher that ships, if estimates are right."""

import heapq
from collections.abc import Callable, Iterable, Mapping

from orchestrator.fleet.dispatch import Dispatcher, Unit


def expected_s(
    units: Iterable[Unit],
    hosts: Mapping[str, str],
    seed: int,
    duration_s: Callable[[Unit, str], float] = lambda unit, _: unit.estimate_s,
) -> float:
    """Seconds from the first order to the last verdict.

    Args:
        units: everything that is to be done.
        hosts: the class of each host, by name.
        seed: decides the order of units.
        duration_s: seconds that a unit takes on a host; by default its estimate.
    """
    dispatcher = Dispatcher.of(units, hosts, seed)
    ends: list[tuple[float, str]] = []
    free, now = set(hosts), 0.0
    while True:
        for assignment in dispatcher.next(free):
            end = now + duration_s(assignment.unit, assignment.host)
            heapq.heappush(ends, (end, assignment.host))
        if not ends:
            return now
        now, host = heapq.heappop(ends)
        dispatcher.done(host)
        free = {host}
