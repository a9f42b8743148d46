"""The dispatcher of a fleet, simulated: makespan, losses, and its own time per order.

The bound of a makespan is max(all work / hosts, longest job). Durations are log-normal, 10–1800 s;
estimates are off by 30 %. A host is lost after 500 hours on average, and its order with it.
"""

import heapq
import math
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.fleet.dispatch import Dispatcher, Unit
from performance.fleet.figures import Figure

JOBS_PER_HOST = 20
BARS = {16: 1.08, 256: 1.15, 4096: 1.20}
"""Most makespan / bound, by hosts."""
ORDER_MS = 5.0
"""Most milliseconds of the dispatcher's own time per order."""
ALL_ORDERS_S = 10.0
"""Most seconds of its own time for all orders of 4096 hosts."""
LOSS_S = 500 * 3600.0
"""Mean seconds until a host is lost."""


@dataclass(frozen=True)
class Simulated:
    """One simulated run."""

    ratio: float
    """Makespan / bound."""
    orders: int
    lost: int
    verdicts: Counter[str]
    own_s: float
    """Processor seconds inside the dispatcher, `give_up` before each order included."""


def dispatch(folder: Path) -> list[Figure]:
    """Simulate fleets of each size, without and with losses."""
    del folder
    return [
        figure for hosts in BARS for mean_s in (math.inf, LOSS_S) for figure in _of(hosts, mean_s)
    ]


def _of(hosts: int, mean_s: float) -> Iterator[Figure]:
    run, losses = _simulate(hosts, mean_s, seed=23), mean_s != math.inf
    name = f"{hosts} hosts" + (f", {run.lost} lost" if losses else "")
    yield Figure(f"{name}: makespan / bound", run.ratio, "", None if losses else BARS[hosts])
    once = run.verdicts == Counter(map(str, range(hosts * JOBS_PER_HOST)))
    yield Figure(f"{name}: one verdict for each cell", float(once), "", 1, is_least=True)
    yield Figure(f"{name}: own time an order", run.own_s / run.orders * 1e3, "ms", ORDER_MS)
    yield Figure(f"{name}: own time of all orders", run.own_s, "s", ALL_ORDERS_S)


def _simulate(count: int, mean_s: float, seed: int) -> Simulated:
    chance = random.Random(seed)
    durations = [
        min(1800.0, max(10.0, chance.lognormvariate(math.log(120), 1.0)))
        for _ in range(count * JOBS_PER_HOST)
    ]
    units = [
        Unit(str(at), duration * chance.uniform(0.7, 1.3), frozenset({"class"}))
        for at, duration in enumerate(durations)
    ]
    hosts = dict.fromkeys((f"h{at}" for at in range(count)), "class")
    deaths = {
        host: math.inf if mean_s == math.inf else chance.expovariate(1 / mean_s) for host in hosts
    }
    alive, free = set(hosts), set(hosts)
    ends: list[tuple[float, str, str]] = []
    verdicts: Counter[str] = Counter()
    now, orders, lost = 0.0, 0, 0
    began = time.process_time()
    dispatcher, own_s = Dispatcher.of(units, hosts, seed), 0.0
    own_s += time.process_time() - began
    while True:
        began = time.process_time()
        given_up, assignments = dispatcher.give_up(alive), dispatcher.next(free)
        own_s += time.process_time() - began
        verdicts.update(one.unit.id for one in given_up)
        for one in assignments:
            orders += 1
            free.discard(one.host)
            end = now + durations[int(one.unit.id)]
            heapq.heappush(ends, (min(end, deaths[one.host]), one.host, one.unit.id))
        if not ends:
            break
        now, host, unit_id = heapq.heappop(ends)
        began = time.process_time()
        if now >= deaths[host]:
            dispatcher.lost(host, "died")
            alive.discard(host)
            lost += 1
        else:
            dispatcher.done(host)
            verdicts[unit_id] += 1
            free.add(host)
        own_s += time.process_time() - began
    bound = max(sum(durations) / count, *durations)
    return Simulated(now / bound, orders, lost, verdicts, own_s)
