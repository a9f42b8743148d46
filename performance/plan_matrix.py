"""Time and memory of `orchestrator plan --format json` for a matrix of 100,000 cells."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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
_COMMAND = ("plan", "matrix.json", "--format", "json", "--select", "fake-*")
_MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1 << 10
"""Unit of the maximum resident size that the system reports."""


def main() -> int:
    """Plan the matrix once, by the real command; 0 if it stays within the limits."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "matrix.json").write_text(json.dumps(_MATRIX), "utf-8")
        seconds, peak_mib = _plan(folder)
        with (folder / "plan.json").open(encoding="utf-8") as file:
            cells = len(json.load(file)["cells"])
    within = cells == CELLS and seconds < LIMIT_S and peak_mib < LIMIT_MIB
    print(f"orchestrator {' '.join(_COMMAND)}: {cells:,} cells")
    print(f"time of the command: {seconds:.2f} s (limit {LIMIT_S:g} s)")
    print(f"maximum resident size: {peak_mib:.0f} MiB (limit {LIMIT_MIB:g} MiB)")
    result = {"cells": cells, "plan_s": seconds, "peak_mib": peak_mib}
    print(json.dumps({"name": "plan_matrix", **result, "within": within}))
    return 0 if within else 1


def _plan(folder: Path) -> tuple[float, float]:
    """Seconds of the command, and its maximum resident size in MiB; its plan is in plan.json."""
    started = time.perf_counter()
    with (folder / "plan.json").open("wb") as plan:
        command = [sys.executable, "-m", "orchestrator", *_COMMAND]
        process = subprocess.Popen(command, cwd=folder, stdout=plan)
        _, status, usage = os.wait4(process.pid, 0)
    if process.returncode is None and status:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - started, usage.ru_maxrss * _MAXRSS_BYTES / (1 << 20)


if __name__ == "__main__":
    sys.exit(main())
