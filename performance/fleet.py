"""The dispatcher of a fleet, simulated: makespan, losses, and its own time per order.

The bound of a makespan is max(all work / hosts, longest job). Durations are log-normal, 10–1800 s;
estimates are off by 30 %. A host is lost after 500 hours on average, and its order with it.
"""

import heapq
import json
import math
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass

from orchestrator.fleet.dispatch import Dispatcher, Unit

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
    """Seconds inside the dispatcher, `give_up` before each order included."""


def main() -> int:
    """Simulate fleets of each size; 1 if a bar is missed."""
    missed, figures = False, []
    print("hosts  losses  makespan/bound  bar   orders  lost  ms/order  own s")
    for hosts, bar in BARS.items():
        for mean_s in (math.inf, LOSS_S):
            run = _simulate(hosts, mean_s, seed=23)
            order_ms = run.own_s / run.orders * 1e3
            losses = "no" if mean_s == math.inf else "yes"
            print(
                f"{hosts:5}  {losses:6}  {run.ratio:14.3f}  {bar:.2f} {run.orders:7} {run.lost:5}"
                f"  {order_ms:8.3f}  {run.own_s:5.1f}"
            )
            once = run.verdicts == Counter(map(str, range(hosts * JOBS_PER_HOST)))
            missed |= run.ratio > bar and mean_s == math.inf
            missed |= not once or order_ms > ORDER_MS or run.own_s > ALL_ORDERS_S
            figures.append({"hosts": hosts, "losses": losses, "ratio": run.ratio, "ms": order_ms})
    print(json.dumps({"measurement": "fleet", "section": "dispatch", "runs": figures}))
    return int(missed)


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
    began = time.perf_counter()
    dispatcher, own_s = Dispatcher.of(units, hosts, seed), 0.0
    own_s += time.perf_counter() - began
    while True:
        began = time.perf_counter()
        given_up, assignments = dispatcher.give_up(alive), dispatcher.next(free)
        own_s += time.perf_counter() - began
        verdicts.update(one.unit.id for one in given_up)
        for one in assignments:
            orders += 1
            free.discard(one.host)
            end = now + durations[int(one.unit.id)]
            heapq.heappush(ends, (min(end, deaths[one.host]), one.host, one.unit.id))
        if not ends:
            break
        now, host, unit_id = heapq.heappop(ends)
        began = time.perf_counter()
        if now >= deaths[host]:
            dispatcher.lost(host, "died")
            alive.discard(host)
            lost += 1
        else:
            dispatcher.done(host)
            verdicts[unit_id] += 1
            free.add(host)
        own_s += time.perf_counter() - began
    bound = max(sum(durations) / count, *durations)
    return Simulated(now / bound, orders, lost, verdicts, own_s)


if __name__ == "__main__":
    sys.exit(main())
