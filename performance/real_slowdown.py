"""Real slowdowns: what `regress` says of a runner that a patch made slower, and of rebuilt images.

The checkout is copied twice for each trial. In the one copy a comment is added to the runner, so
that its image is built anew and does the same: a clean rebuild. In the other
`tests/e2e/slow_runner.patch` makes each forward pass slower by a known share. Both are measured in
containers and judged against a baseline that the checkout itself measured: by plain runs of
`standard`, where the share is 10 %, and by `--interleave`, where it is 5 %. Each trial has a copy
of the baseline's database, so that none knows what others measured.

The cell is the one of several whose launches have the least coefficient of variation in the first
run; it is printed, and must be 2 % or less. Further runs of this cell are its history, as a
project that measures each day has one; the newest is the baseline. A slowdown that is not found, a
clean rebuild that is accused, or clean rebuilds without a single `no change` end with 1.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from analysis.regressions.judgements import THRESHOLD
from orchestrator.app.measure.interleave import INTERLEAVED_THRESHOLD
from orchestrator.app.results.regressing import RegressionRequest, judge_regressions
from orchestrator.app.results.selecting import SelectionRequest
from orchestrator.store import query
from orchestrator.system.files import DATABASE_NAME
from orchestrator.system.git import ROOT

PATCH = ROOT / "tests" / "e2e" / "slow_runner.patch"
PLAIN_SHARE, INTERLEAVED_SHARE = 0.10, 0.05
"""Shares by which a forward pass takes longer."""
MOST_CV = 0.02
"""Coefficient of variation of the cell's launches up to which the trials count."""
REPEATS = 5
HISTORY = 4
"""Runs of the cell after the first one, before the first trial."""
_CELLS = ("--model", "bert-tiny", "--batch-size", "1,8", "--sequence-length", "32,128")
_COPIED = ("analysis", "images", "orchestrator", "runner")
_IN_PATCH = "SLOWER = 0.10"


@dataclass(frozen=True)
class Trial:
    """One comparison of a copy with the baseline."""

    way: str
    """`plain` or `interleaved`."""
    share: float
    """The share by which it was made slower; 0 for a clean rebuild."""
    verdict: str
    change: str
    """The ratio with its interval, in words."""
    launches: int
    seconds: float

    @property
    def is_missed(self) -> bool:
        """True if a slowdown was not found, or a clean rebuild was accused."""
        return (self.verdict == "regression") != (self.share > 0)


@dataclass(frozen=True)
class BaselineRun:
    """The baseline: its run, and the cell that is judged."""

    folder: Path
    run_id: str
    cell_id: str
    cv: float


def main() -> int:
    """Measure and print; 1 if a slowdown is missed or a clean rebuild accused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--history", type=int, default=HISTORY)
    parser.add_argument("--interleaved-profile", default="quick")
    parser.add_argument("--ways", default="plain,interleaved")
    parser.add_argument("--results", type=Path, help="a new folder that keeps the results")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.results or Path(temporary, "results")
        baseline = measure_baseline(folder, Path(temporary), options.history)
        print(
            f"{baseline.cell_id}: launches of the first run have cv {baseline.cv:.2%}", flush=True
        )
        if baseline.cv > MOST_CV:
            print(f"no cell has launches of cv {MOST_CV:.0%} or less: try a quieter machine")
            return 1
        trials = []
        for trial in measure(baseline, options, Path(temporary)):
            print(_line(trial), flush=True)
            trials.append(trial)
    return report(trials)


def measure_baseline(folder: Path, temporary: Path, history: int) -> BaselineRun:
    """Measure the cells in the checkout's own version, choose the quietest, and repeat it."""
    copy = copied(temporary / "baseline", 0.0, 0)
    database = folder / DATABASE_NAME
    words = [*_CELLS, "--profile", "standard"]
    bench(copy, folder, database, words)
    rows = query(
        database, "SELECT cell_id, round_medians FROM benchmark_results WHERE status = 'ok'"
    ).to_pylist()
    cvs = {row["cell_id"]: _cv(row["round_medians"]) for row in rows}
    cell_id, cv = min(cvs.items(), key=lambda item: item[1])
    for _ in range(history):
        bench(copy, folder, database, [*words, "--select", cell_id])
    (newest,) = query(database, "SELECT max(run_id) AS run_id FROM benchmark_results").to_pylist()
    return BaselineRun(folder, newest["run_id"], cell_id, cv)


def measure(baseline: BaselineRun, options: argparse.Namespace, temporary: Path) -> Iterator[Trial]:
    """The trials; clean rebuilds and slowdowns take turns."""
    ways = {
        "plain": (PLAIN_SHARE, ["--profile", "standard"]),
        "interleaved": (
            INTERLEAVED_SHARE,
            ["--profile", options.interleaved_profile, "--interleave"],
        ),
    }
    for way in options.ways.split(","):
        share, words = ways[way]
        for number in range(1, options.repeats + 1):
            for slower in (0.0, share):
                copy = copied(temporary / f"{way}-{number}-{slower}", slower, number)
                yield compare(copy, baseline, way, slower, words)
                shutil.rmtree(copy)


def compare(
    copy: Path, baseline: BaselineRun, way: str, share: float, words: Sequence[str]
) -> Trial:
    """Measure the cell in this copy and judge it."""
    began = time.monotonic()
    database = copy / DATABASE_NAME
    shutil.copyfile(baseline.folder / DATABASE_NAME, database)
    command = [*_CELLS, "--select", baseline.cell_id, "--compare-to", baseline.run_id, *words]
    bench(copy, baseline.folder, database, command)
    (newest,) = query(
        database,
        "SELECT run_id, interleaved_with, rounds FROM benchmark_results"
        f" WHERE run_id > '{baseline.run_id}' ORDER BY run_id DESC LIMIT 1",
    ).to_pylist()
    request = RegressionRequest(
        SelectionRequest(database),
        newest["interleaved_with"] or baseline.run_id,
        newest["run_id"],
        threshold=INTERLEAVED_THRESHOLD if newest["interleaved_with"] else THRESHOLD,
    )
    (judgement,) = judge_regressions(request).judgements.judgements
    ratio = judgement.ratio
    change = f"{ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f})" if ratio else "unknown"
    seconds = time.monotonic() - began
    return Trial(way, share, judgement.verdict, change, newest["rounds"], seconds)


def copied(folder: Path, share: float, number: int) -> Path:
    """A copy of the checkout, made slower by this share, or the same in another image."""
    for name in _COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    if share:
        patch = PATCH.read_text("utf-8").replace(_IN_PATCH, f"SLOWER = {share}")
        subprocess.run(["git", "apply", "-"], input=patch, text=True, cwd=folder, check=True)
    elif number:
        with (folder / "runner" / "__init__.py").open("a") as file:
            file.write(f"# rebuilt {number}\n")
    return folder


def bench(copy: Path, results: Path, database: Path, words: Sequence[str]) -> None:
    """Measure in the images of this copy."""
    command = [sys.executable, "-m", "orchestrator", "--quiet", "bench", *words]
    command += ["--launcher", "docker", "--results", str(results), "--database", str(database)]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    subprocess.run(command, cwd=copy, env=environment, check=False, stdout=subprocess.DEVNULL)


def report(trials: Sequence[Trial]) -> int:
    """Print the counts; 1 if one was missed."""
    missed = [trial for trial in trials if trial.is_missed]
    for way in dict.fromkeys(trial.way for trial in trials):
        slow = [trial for trial in trials if trial.way == way and trial.share]
        clean = [trial for trial in trials if trial.way == way and not trial.share]
        found = sum(not trial.is_missed for trial in slow)
        accused = sum(trial.is_missed for trial in clean)
        print(
            f"{way}: {found} of {len(slow)} slowdowns found, {accused} of {len(clean)} clean"
            f" rebuilds accused, {sum(one.verdict == 'no change' for one in clean)} no change"
        )
    unchanged = any(trial.verdict == "no change" for trial in trials)
    return 1 if missed or not unchanged else 0


def _line(trial: Trial) -> str:
    what = f"{trial.share:.0%} slower" if trial.share else "rebuilt"
    return (
        f"{trial.way:11} {what:11} {trial.verdict:14} {trial.change:24}"
        f" {trial.launches:2} launches {trial.seconds:5.0f} s"
    )


def _cv(medians: Sequence[float]) -> float:
    return stdev(medians) / fmean(medians) if len(medians) > 2 else float("inf")


if __name__ == "__main__":
    sys.exit(main())
