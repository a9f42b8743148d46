"""Run every measurement, or those named: `python -m performance start_up merge_files`.

What follows one name is for that measurement: `python -m performance sabotage small fp32,int8`.
`python -m performance synthesise --rows N --output DIR` writes results to measure the store with.
`python -m performance faults` tries faults instead, and prints a table; see performance/faults.py.
"""

import os
import signal
import subprocess
import sys
from types import FrameType

from orchestrator.commands.main import heeded_signals
from performance.faults import main as try_faults
from performance.synthesise import main as synthesise

MEASUREMENTS = (
    "start_up",
    "plan_matrix",
    "merge_files",
    "store",
    "hostile_parquet",
    "output_flood",
    "run_growth",
    "harness_overhead",
    "job_overhead",
    "default_matrix",
    "runtimes",
    "side_by_side",
    "rounds",
    "regressions",
    "prediction",
    "fleet",
    "sabotage",
)
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
"""Variable under which each process would compile our modules anew, as no installation does."""


def main() -> int:
    """Run each measurement in a fresh process, without the imports and memory of another."""
    if sys.argv[1:2] == ["synthesise"]:
        return synthesise(sys.argv[2:])
    if sys.argv[1:2] == ["faults"]:
        return try_faults(sys.argv[2:])
    names = [word for word in sys.argv[1:] if word in MEASUREMENTS]
    options = [word for word in sys.argv[1:] if word not in MEASUREMENTS]
    if options and len(names) != 1:
        print(f"{' '.join(options)}: no measurement; there are {', '.join(MEASUREMENTS)}")
        return 2
    codes = []
    for name in names or MEASUREMENTS:
        print(f"\n== {name}", flush=True)
        codes.append(_measured([sys.executable, "-m", f"performance.{name}", *options]))
    return max(codes)


def _measured(command: list[str]) -> int:
    """The exit status of a measurement; a signal that ends us ends all that it has started."""
    measurement = subprocess.Popen(command, env=os.environ | {NO_BYTECODE: ""}, process_group=0)

    def end(number: int, _frame: FrameType | None) -> None:
        os.killpg(measurement.pid, number)
        sys.exit(128 + number)

    for number in heeded_signals():
        signal.signal(number, end)
    return measurement.wait()


if __name__ == "__main__":
    sys.exit(main())
