"""Overhead of the harness: its median iteration against a bare loop over the same session.

Both take turns in blocks, A B A B, so that the machine's drift affects them alike.
"""

import json
import statistics
import sys
import time
from itertools import chain

from performance.sessions import open_job_session, torch_job
from runner.backends.base import Query
from runner.inputs import synthesise
from runner.measure.clock import monotonic
from runner.measure.phases import Quota, run_steady_phase
from runner.modes.inference import InferenceWorkload

BLOCKS = 40
BLOCK_S = 0.6
MODELS = ("bert-tiny", "bert-base-uncased")
TOLERANCE = 0.01


def main() -> int:
    """Measure and print; 1 if a ratio is not what is promised."""
    held = True
    for model in MODELS:
        ratio, ours, bare = compare(model)
        print(f"{model}: bare loop {bare * 1e3:.3f} ms, under the harness {ours * 1e3:.3f} ms")
        print(f"ratio {ratio:.4f} (promised 1.00 ± {TOLERANCE})")
        data = {"measurement": "harness_overhead", "model": model, "ratio": round(ratio, 4)}
        print(json.dumps(data | {"tolerance": TOLERANCE}), flush=True)
        held &= abs(ratio - 1) <= TOLERANCE
    return int(not held)


def compare(model: str) -> tuple[float, float, float]:
    """Ratio of the medians, and both medians in seconds.

    The ratio is the median over neighbouring blocks, since two neighbours saw the same machine.
    """
    job = torch_job(model)
    session = open_job_session(job)
    workload = InferenceWorkload(session, job, job.cells[0], monotonic)
    query = session.bind(job.cells[0], synthesise(job.model, job.cells[0], job.weights_seed))
    workload()
    count = max(3, round(BLOCK_S * 1e9 / statistics.median(bare_loop(query, 5))))
    quota = Quota(iterations=count, min_ns=0, max_ns=10**15, precision_target=None)
    run_steady_phase(workload, quota)
    blocks = [_pair(workload, query, quota, flip=bool(i % 2)) for i in range(BLOCKS)]
    ratios = [statistics.median(ours) / statistics.median(bare) for ours, bare in blocks]
    ours = statistics.median(chain.from_iterable(block[0] for block in blocks))
    bare = statistics.median(chain.from_iterable(block[1] for block in blocks))
    return statistics.median(ratios), ours / 1e9, bare / 1e9


def bare_loop(query: Query, count: int) -> list[int]:
    """Durations of a hand-written loop, nanoseconds."""
    durations = []
    for _ in range(count):
        start = time.perf_counter_ns()
        query()
        durations.append(time.perf_counter_ns() - start)
    return durations


def _pair(
    workload: InferenceWorkload, query: Query, quota: Quota, *, flip: bool
) -> tuple[list[int], list[int]]:
    if flip:
        bare = bare_loop(query, quota.iterations)
        return run_steady_phase(workload, quota), bare
    ours = run_steady_phase(workload, quota)
    return ours, bare_loop(query, quota.iterations)


if __name__ == "__main__":
    sys.exit(main())
