"""Time and memory to plan a matrix of 100,000 cells."""

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from orchestrator.matrix import load_matrix
from orchestrator.planning.plan import make_plan
from orchestrator.planning.schedule import schedule
from runner.contract.selector import Selector

CELLS = 100_000
LIMIT_S = 5.0
LIMIT_MIB = 500.0

_MATRIX = {
    "version": 1,
    "axes": {
        "model": ["bert-tiny", "bert-base-uncased"],
        "backend": ["fake"],
        "precision": ["fp32", "bf16", "fp16", "int8"],
        "batch_size": list(range(1, 126)),
        "sequence_length": list(range(1, 101)),
    },
    "include": [{"model": "gpt2", "backend": "fake"}, {"batch_size": 7, "runtime": "default"}],
    "exclude": [{"model": "bert-tiny", "precision": "fp32", "batch_size": 1, "sequence_length": 1}],
}


def main() -> int:
    """Plan the matrix once in this process; 0 if it stays within the limits."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matrix.json"
        path.write_text(json.dumps(_MATRIX), "utf-8")
        started = time.perf_counter()
        plan = make_plan(load_matrix(path), selector=Selector(["fake-*"]))
        seconds = time.perf_counter() - started
    jobs = schedule(plan, seed=0)
    with_schedule_s = time.perf_counter() - started
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    cells = len(plan.entries)
    within = cells == CELLS and seconds < LIMIT_S and peak_mib < LIMIT_MIB
    print(f"planning {cells:,} cells: {seconds:.2f} s (limit {LIMIT_S:g} s)")
    print(f"planning and scheduling them in {len(jobs)} jobs: {with_schedule_s:.2f} s")
    print(f"peak memory of the process: {peak_mib:.0f} MiB (limit {LIMIT_MIB:g} MiB)")
    result = {"cells": cells, "plan_s": seconds, "schedule_s": with_schedule_s - seconds}
    print(json.dumps({"name": "plan_matrix", **result, "peak_mib": peak_mib, "within": within}))
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
