"""Overhead of the harness: its median iteration against a bare loop over the same session.

They take turns in blocks, so that the machine's drift affects them alike, over one query, as two
bindings hold their inputs at other addresses. Between the two readings of the clock both execute
the same code. A second bare loop, the control, shows how far from 1 the ratio of equal things comes
on this machine meanwhile.
"""

import json
import math
import statistics
import sys
import time
from collections.abc import Sequence
from itertools import chain, cycle, islice, permutations

from performance.sessions import open_job_session, torch_job
from runner.backends.base import Query
from runner.measure.clock import monotonic
from runner.measure.phases import Quota, run_steady_phase
from runner.modes.base import InferenceWorkload

BLOCKS = 36
BLOCK_S = 0.6
MODELS = ("bert-tiny", "bert-base-uncased")
TOLERANCE = 0.01
_TWO_SIDED = 1.96

Block = tuple[list[int], list[int], list[int]]
"""Nanoseconds of a bare loop, of the harness and of a second bare loop, one after the other."""


def main() -> int:
    """Measure and print; 1 if a ratio is not what is promised."""
    held = True
    for model in MODELS:
        blocks = measure_blocks(model)
        bare, ours = (statistics.median(chain.from_iterable(b[i] for b in blocks)) for i in (0, 1))
        ratio, low, high = ratio_of(blocks, 1, 0)
        control = ratio_of(blocks, 2, 0)
        print(f"{model}: bare loop {bare / 1e6:.3f} ms, under the harness {ours / 1e6:.3f} ms")
        print(f"ratio {ratio:.4f}, {low:.4f} to {high:.4f} (promised 1.00 ± {TOLERANCE})")
        print("two bare loops {:.4f}, {:.4f} to {:.4f}".format(*control))
        data = {"measurement": "harness_overhead", "model": model, "tolerance": TOLERANCE}
        shown = {"ratio": ratio, "low": low, "high": high, "control": control[0]}
        print(json.dumps(data | {name: round(x, 4) for name, x in shown.items()}), flush=True)
        held &= low <= 1 + TOLERANCE and high >= 1 - TOLERANCE
    return int(not held)


def ratio_of(blocks: Sequence[Block], one: int, other: int) -> tuple[float, float, float]:
    """The median ratio of two loops' medians over all blocks, and its 95 % interval.

    Two loops of a block saw the same machine. The interval is that of order statistics.
    """
    ratios = sorted(statistics.median(b[one]) / statistics.median(b[other]) for b in blocks)
    off = round(_TWO_SIDED * math.sqrt(len(ratios)) / 2)
    middle = len(ratios) // 2
    return statistics.median(ratios), ratios[middle - 1 - off], ratios[middle + off]


def measure_blocks(model: str) -> list[Block]:
    """Durations of every block: of a bare loop, under the harness, of another bare loop."""
    job = torch_job(model)
    session = open_job_session(job)
    workload = InferenceWorkload(session, job, job.cells[0], monotonic)
    query = workload._query
    workload()
    count = max(3, round(BLOCK_S * 1e9 / statistics.median(bare_loop(query, 5))))
    quota = Quota(iterations=count, min_ns=0, max_ns=10**15, precision_target=None)
    loops = [
        lambda: bare_loop(query, count),
        lambda: run_steady_phase(workload, quota),
        lambda: bare_loop(query, count),
    ]
    loops[1]()
    blocks: list[Block] = []
    for order in islice(cycle(permutations(range(len(loops)))), BLOCKS):
        durations = {place: loops[place]() for place in order}
        blocks.append((durations[0], durations[1], durations[2]))
    return blocks


def bare_loop(query: Query, count: int) -> list[int]:
    """Durations of a hand-written loop, nanoseconds."""
    durations = []
    for _ in range(count):
        start = time.perf_counter_ns()
        query()
        durations.append(time.perf_counter_ns() - start)
    return durations


if __name__ == "__main__":
    sys.exit(main())
