"""Time and memory of `orchestrator plan --format json` for a matrix of 100,000 cells.

`python -m performance.plan_matrix 1000000` plans a million, and insists on progress on stderr.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LIMITS: Mapping[int, tuple[float, float]] = {100_000: (5.0, 500.0), 1_000_000: (60.0, 1000.0)}
"""Most seconds and megabytes, by cells."""
WITH_PROGRESS = 1_000_000
"""Cells from which on it must tell how far it is."""


def matrix_of(cells: int) -> dict[str, Any]:
    """A matrix of so many cells, a multiple of 100,000; one is excluded, another included."""
    batches = cells // 800
    return {
        "version": 1,
        "axes": {
            "model": ["bert-tiny", "bert-base-uncased"],
            "backend": ["fake"],
            "precision": ["fp32", "bf16", "fp16", "int8"],
            "batch_size": list(range(1, batches + 1)),
            "sequence_length": list(range(1, 101)),
        },
        "include": [{"model": "gpt2", "backend": "fake"}, {"batch_size": 7, "runtime": "default"}],
        "exclude": [
            {"model": "bert-tiny", "precision": "fp32", "batch_size": 1, "sequence_length": 1}
        ],
    }


_COMMAND = ("plan", "matrix.json", "--format", "json", "--select", "fake-*")
_MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1 << 10
"""Unit of the maximum resident size that the system reports."""


def main(arguments: list[str]) -> int:
    """Plan the matrix once, by the real command; 0 if it stays within the limits."""
    cells = int(arguments[0]) if arguments else min(LIMITS)
    most_s, most_mb = LIMITS[cells]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "matrix.json").write_text(json.dumps(matrix_of(cells)), "utf-8")
        seconds, peak_mb = _plan(folder)
        notes = (folder / "notes.txt").read_text("utf-8").count("planning: ")
        with (folder / "plan.json").open(encoding="utf-8") as file:
            planned = sum(line.count('"cell_id"') for line in file)
    within = planned == cells and seconds < most_s and peak_mb < most_mb
    within = within and (notes > 0 or cells < WITH_PROGRESS)
    print(f"orchestrator {' '.join(_COMMAND)}: {planned:,} cells, {notes} notes of progress")
    print(f"time of the command: {seconds:.2f} s (limit {most_s:g} s)")
    print(f"maximum resident size: {peak_mb:.0f} MB (limit {most_mb:g} MB)")
    result = {"cells": planned, "plan_s": seconds, "peak_mb": peak_mb, "notes": notes}
    print(json.dumps({"name": "plan_matrix", **result, "within": within}))
    return 0 if within else 1


def _plan(folder: Path) -> tuple[float, float]:
    """Seconds of the command, and its maximum resident size in MB; its plan is in plan.json."""
    started = time.perf_counter()
    with (folder / "plan.json").open("wb") as plan, (folder / "notes.txt").open("wb") as notes:
        command = [sys.executable, "-m", "orchestrator", *_COMMAND]
        process = subprocess.Popen(command, cwd=folder, stdout=plan, stderr=notes)
        _, status, usage = os.wait4(process.pid, 0)
    if process.returncode is None and status:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - started, usage.ru_maxrss * _MAXRSS_BYTES / 1e6


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
