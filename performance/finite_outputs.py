"""Finite outputs of every model of the catalogue with random weights, the smallest first.

`python -m performance finite_outputs MODEL,MODEL` takes some alone. A model that fits into memory
in bf16 but not in fp32 is tried in bf16; one that fits in neither is named.
"""

import json
import sys
import time
import warnings
from contextlib import closing

import numpy as np
import psutil

from performance.own_arithmetic import job_of
from runner.backends.torch.backend import open_session
from runner.contract.cell import Precision
from runner.contract.models import ModelSpec, catalogue, find
from runner.correctness.reference import compute_outputs

_BYTES: tuple[tuple[Precision, int], ...] = (("fp32", 4), ("bf16", 2))
_ROOM = 1.3
"""Bytes of a model that works, by those of its parameters."""


def precision_that_fits(model: ModelSpec) -> Precision | None:
    """The widest number format in which the model fits into the memory that is free now."""
    free = psutil.virtual_memory().available
    sizes = ((name, size * (model.parameters or 0) * _ROOM) for name, size in _BYTES)
    return next((name for name, size in sizes if size < free), None)


def largest_output(model: str, precision: Precision) -> float:
    """The largest absolute value of any output for the fixed queries; NaN if one is not finite."""
    job = job_of(model, "inference", precision)
    with closing(open_session(job, psutil.cpu_count(logical=False) or 1)) as session:
        outputs = compute_outputs(session, job).values()
    finite = all(np.isfinite(array).all() for array in outputs)
    return max(float(np.abs(array).max()) for array in outputs) if finite else float("nan")


def main() -> int:
    """Print a line for each model; 1 if an output is not finite."""
    chosen = [find(name).name for name in sys.argv[1].split(",")] if len(sys.argv) > 1 else None
    models = sorted(catalogue().values(), key=lambda model: model.parameters or 0)
    largest: dict[str, float] = {}
    left_out = []
    for model in models:
        if chosen is not None and model.name not in chosen:
            continue
        precision = precision_that_fits(model)
        if precision is None:
            left_out.append(model.name)
            continue
        start = time.process_time()
        with warnings.catch_warnings(action="ignore"):
            largest[model.name] = largest_output(model.name, precision)
        spent = time.process_time() - start
        print(f"{model.name:24} {precision} {largest[model.name]:10.3g} {spent:6.1f} s", flush=True)
    broken = [name for name, value in largest.items() if not np.isfinite(value)]
    print(json.dumps({"measurement": "finite_outputs", "largest": largest, "too_large": left_out}))
    print(f"not finite: {', '.join(broken) or 'none'}; too large: {', '.join(left_out) or 'none'}")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
