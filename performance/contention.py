"""Contention study: what grades are worth while others use the machine.

A model is measured by `orchestrator bench` on four paths while 0, 1, 2 and 4 other processes spin.
Each record is of one process, so the host is calibrated first. Where its processes differ by more
than any grade allows, `--rounds 12` takes so many for each record; then no calibration is needed.

The quiet median of a path is the median of its quiet runs. A row of grade A, B or C keeps its
promise if it lies within that of the quiet median: its own precision, or the 5 % of B and the 20 %
of C where that is more. In 95 % of such rows the promise must hold; rows of grade D promise
nothing. Before each quiet run the load average that the busy ones left has time to fall; a study
without a graded quiet row shows nothing and fails. Grades are those of the records: contradictions
between runs would lower more of them.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from analysis.results.row import ResultRow
from analysis.statistics.ratios import PROMISES
from orchestrator.store import Store, newest_run
from orchestrator.system.files import DATABASE_NAME

MODEL = "bert-tiny"
BUSY = (0, 1, 2, 4)
REPEATS = 5
KEPT = 0.95
"""The share of graded rows that must keep their promise."""
_PATHS = ("--backend", "cpu,openvino", "--runtime", "torch,onnxruntime,openvino")
_NUMBERS = ("--precision", "fp32,int8")
_LEFT_OUT = (
    *("!*onnxruntime*int8*", "!openvino*int8*"),
    *("!cpu-openvino*", "!openvino-torch*", "!openvino-onnxruntime*"),
)
_LONGEST_WAIT_S = 300
_QUIET_LOAD = 1.0
"""Load average on two cores below which grades are as without it."""
_SPIN = """
import os
study = os.getppid()
while os.getppid() == study:
    for _ in range(1_000_000):
        pass
"""
_ITERATIONS = 5
"""Fewest of a launch."""
_RAN = {0, 1}
"""Exit codes of runs whose cells have verdicts; of some it may be that they failed."""
_ORCHESTRATOR = (sys.executable, "-m", "orchestrator", "--quiet")


@dataclass(frozen=True)
class ContendedRow:
    """A result, and how many others kept the machine busy."""

    busy: int
    row: ResultRow

    @property
    def is_graded(self) -> bool:
        """True if its grade promises anything."""
        return self.row.grade in PROMISES and self.row.latency_median_ms is not None


def main() -> int:
    """Measure and print; 1 if promises are broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--profile", default="quick")
    parser.add_argument("--rounds", type=int, default=1, help="launches of each cell in a run")
    parser.add_argument("--results", type=Path, help="a new folder that keeps the results")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.results or Path(temporary)
        measured = ["--profile", options.profile]
        if options.rounds == 1:
            calibrate(folder)
        else:
            iterations = _ITERATIONS * options.rounds
            measured += ["--rounds", str(options.rounds), "--iterations", str(iterations)]
        rows = list(measure(folder, loads(options.repeats, options.rounds), measured))
    return report(rows)


def loads(repeats: int, rounds: int) -> Iterator[int]:
    """How many spin in each run: the loads take turns, so that none has an hour of its own.

    Runs of many launches take minutes, so that a quiet one is followed by one of the loads.
    """
    quiet, *loaded = BUSY
    for repeat in range(repeats):
        yield quiet
        yield from loaded if rounds == 1 else [loaded[repeat % len(loaded)]]


def measure(folder: Path, loads: Iterable[int], measured: Sequence[str]) -> Iterator[ContendedRow]:
    """The rows of all runs; the options `measured` say how long and how often."""
    bench(folder)  # exports and references are made once, beside nobody's clock
    for busy in loads:
        if not busy:
            wait_for_quiet()
        with spinning(busy):
            yield from (ContendedRow(busy, row) for row in bench(folder, *measured))


def wait_for_quiet() -> None:
    """Wait until the load average of earlier work has fallen, five minutes at most."""
    ends = time.monotonic() + _LONGEST_WAIT_S
    while os.getloadavg()[0] > _QUIET_LOAD and time.monotonic() < ends:
        time.sleep(1)


@contextmanager
def spinning(count: int) -> Iterator[None]:
    """So many processes that do nothing but compute."""
    processes = [subprocess.Popen([sys.executable, "-c", _SPIN]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


def calibrate(folder: Path) -> None:
    """Keep what fresh processes of each runtime differ by here, for the runs that follow."""
    command = [*_ORCHESTRATOR, "doctor", "--calibrate", *_place(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def bench(folder: Path, *measured: str) -> Sequence[ResultRow]:
    """The results of one run of every path.

    Raises:
        CalledProcessError: it was refused; a run some of whose cells failed was not.
    """
    selected = [word for pattern in _LEFT_OUT for word in ("--select", pattern)]
    command = [*_ORCHESTRATOR, "bench", "--model", MODEL, *_PATHS, *_NUMBERS, *selected]
    command += [*measured, "--no-verify", *_place(folder)]
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    if done.returncode not in _RAN:
        done.check_returncode()
    with Store.open_readonly(folder / DATABASE_NAME) as store:
        run = newest_run(store.runs())
        assert run is not None
        return [row for row in store.results(run.run_id) if row.latency_median_ms is not None]


def _place(folder: Path) -> Sequence[str]:
    return ["--launcher", "process", "--results", str(folder)]


def quiet_medians(rows: Sequence[ContendedRow]) -> Mapping[str, float]:
    """The median of the quiet runs' medians, milliseconds, by cell."""
    quiet = defaultdict(list)
    for contended in rows:
        if contended.busy == 0 and contended.row.latency_median_ms is not None:
            quiet[contended.row.cell_id].append(contended.row.latency_median_ms)
    return {cell_id: statistics.median(values) for cell_id, values in quiet.items()}


def keeps_promise(row: ResultRow, quiet_ms: float) -> bool:
    """True if a graded row lies as near to the quiet median as its grade says."""
    estimate = row.median_ms
    assert estimate is not None
    assert row.grade is not None
    own = max(estimate.high / estimate.value, estimate.value / estimate.low) - 1
    away = max(estimate.value / quiet_ms, quiet_ms / estimate.value) - 1
    return away <= max(own, PROMISES[row.grade])


def report(rows: Sequence[ContendedRow]) -> int:
    """Print grades and kept promises by load; 1 if too few are kept."""
    quiet = quiet_medians(rows)
    graded = [one for one in rows if one.is_graded and one.row.median_ms is not None]
    kept = [one for one in graded if keeps_promise(one.row, quiet[one.row.cell_id])]
    print(f"{MODEL}, {len(quiet)} paths, {len(rows)} rows")
    print(f"{'busy':>4}  {'grades':24}  {'slower by, median':>17}  kept of graded")
    for busy in BUSY:
        chosen = [one for one in rows if one.busy == busy]
        if not chosen:
            continue
        grades = Counter(str(one.row.grade) for one in chosen)
        shown = ", ".join(f"{count} {grade}" for grade, count in sorted(grades.items()))
        slower = statistics.median(
            (one.row.latency_median_ms or 0) / quiet[one.row.cell_id] for one in chosen
        )
        counts = [sum(one.busy == busy for one in some) for some in (kept, graded)]
        print(f"{busy:>4}  {shown:24}  {slower:>17.2f}  {counts[0]} of {counts[1]}")
    for one in graded:
        if one not in kept:
            row, by = one.row, (one.row.latency_median_ms or 0) / quiet[one.row.cell_id]
            print(f"  broken: {row.cell_id}, {one.busy} busy, grade {row.grade}, {by:.2f} times")
    for reason, count in Counter(_reasons(rows)).most_common(5):
        print(f"  quiet, not A: {count} rows: {reason}")
    share = len(kept) / len(graded) if graded else 0.0
    print(f"promises kept: {share:.1%} (at least {KEPT:.0%})")
    if not any(one.busy == 0 for one in graded):
        print("no quiet row is graded: the machine was not quiet")
        share = 0.0
    data = {"measurement": "contention", "rows": len(rows), "graded": len(graded)}
    print(json.dumps({**data, "kept": round(share, 4)}), flush=True)
    return int(share < KEPT)


def _reasons(rows: Sequence[ContendedRow]) -> Iterator[str]:
    """The codes of doubts about quiet rows."""
    for one in rows:
        if one.busy == 0:
            yield from (doubt.code for doubt in one.row.doubts or ())


if __name__ == "__main__":
    sys.exit(main())
