"""Share of a job's wall time in timed iterations, at profile `standard`."""

import json
import tempfile
import time
from pathlib import Path

from orchestrator.launchers.process import ProcessLauncher
from performance.jobs import run_jobs, write_matrix

AXES = {"model": "bert-tiny", "backend": "cpu", "batch_size": [4, 8], "sequence_length": 128}


def main() -> None:
    """Run one job of two cells as a user would, and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        matrix = write_matrix(folder, AXES, measure={"profile": "standard"})
        started = time.perf_counter()
        finished = run_jobs(matrix, folder / "results", ProcessLauncher())
        wall = time.perf_counter() - started
        records = finished.sound_records().values()
        timed = sum(record.steady_time_s or 0.0 for record in records)
    print(f"wall time of a job of {len(records)} cells  {wall:.1f} s")
    print(f"of that in timed iterations       {timed:.1f} s")
    print(f"share                             {timed / wall:.1%}")
    data = {"measurement": "timed_share", "share": round(timed / wall, 3), "cells": len(records)}
    print(json.dumps(data | {"wall_s": round(wall, 2), "timed_s": round(timed, 2)}), flush=True)


if __name__ == "__main__":
    main()
