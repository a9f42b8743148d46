"""Real slowdowns: what `regress` says of a runner that a patch made slower, and of rebuilt images.

In five copies of the checkout a comment is added to the runner, so that its image is built anew and
does the same: clean rebuilds. In two more `tests/e2e/slow_runner.patch` makes each forward pass
slower, by 10 % and by 5 %. They are measured in containers, since it is images that are rebuilt and
side by side needs the baseline's, and judged against a baseline that the checkout itself measured:
by plain runs of `standard` where the share is 10 %, and by `--interleave` where it is 5 %. A
slowdown that is not found, a clean rebuild that is accused, or clean rebuilds without a single `no
change` end with 1.

The cell is the first of six that is steady in a probe (five launches of four seconds) and in its
newest runs of `standard`: one that is the baseline and four that are its history, as a project
that measures each day has one. Steady is a coefficient of variation of all their launches of 2 % or
less, which is printed. Runs are added until it is, at most as many again, and older ones are then
no part of the history; after that the next cell is tried. Without any steady cell nothing is tried,
and the end is 1.

`--results DIR` keeps everything: the same command goes on where it was, after one more run of the
baseline, so that its image is at hand. `--minutes N` ends with 3 at the first trial's end after so
long. On a quiet machine with 2 cores a launch takes 8 to 18 s, by estimate: images of a minute
each, a probe 1 to 2 minutes, baseline and history 10 to 20, ten plain trials of 3 to 5 launches 15,
ten interleaved ones of 10 to 28 pairs of `quick` 35 to 90: from an hour to two. Sessions of 30
minutes do; less than 20 get no further than the baseline.
"""

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from performance.slowdowns.baseline import (
    STANDARD,
    Deadline,
    NoSteadyCell,
    OutOfTime,
    find_baseline,
)
from performance.slowdowns.copies import copied
from performance.slowdowns.trials import Ledger, Trial, TrialFailed, Variant, compare

SHARES = {"plain": 0.10, "interleaved": 0.05}
"""Shares by which a forward pass takes longer."""
REPEATS = 5
HISTORY = 4
"""Runs of the cell after the first one, before the first trial."""
UNFINISHED = 3
"""The exit code if time was over."""
_LEDGER = "trials.json"


def main() -> int:
    """Measure and print; 1 if a slowdown is missed or a clean rebuild accused."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--history", type=int, default=HISTORY)
    parser.add_argument("--interleaved-profile", default="quick")
    parser.add_argument("--ways", default=",".join(SHARES))
    parser.add_argument("--results", type=Path, help="a folder that keeps the results")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin nothing afterwards")
    options = parser.parse_args()
    deadline = Deadline(time.monotonic() + 60 * options.minutes)
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.results or Path(temporary, "results")).absolute()
        try:
            return report(measure(folder, Path(temporary), options, deadline))
        except OutOfTime:
            print("time is over: the same command with the same --results goes on", flush=True)
            return UNFINISHED
        except (NoSteadyCell, TrialFailed) as failure:
            print(failure, flush=True)
            return 1


def measure(
    folder: Path, temporary: Path, options: argparse.Namespace, deadline: Deadline
) -> list[Trial]:
    """All trials, those that the folder keeps first.

    Raises:
        NoSteadyCell: no cell's launches are near enough to each other.
        TrialFailed: a trial was not measured, or the folder is of another runner or machine.
        OutOfTime: the deadline came before the last one.
    """
    ledger = Ledger(folder / _LEDGER)
    trials = ledger.read()
    for trial in trials:
        print(trial, flush=True)
    known = {trial.variant for trial in trials}
    missing = [
        one for one in variants(options.ways.split(","), options.repeats) if one not in known
    ]
    if not missing:
        return trials
    baseline = find_baseline(folder, copied(temporary / "checkout", 0.0), options.history, deadline)
    print(baseline, flush=True)
    if other := {trial.cell_id for trial in trials} - {baseline.cell_id}:
        raise TrialFailed(f"{min(other)} is no longer steady: take a new folder")
    words = {
        "plain": STANDARD,
        "interleaved": ("--profile", options.interleaved_profile, "--interleave"),
    }
    for variant in missing:
        deadline.check()
        copy = temporary / variant.copy
        if not copy.exists():
            copied(copy, variant.share, 0 if variant.share else variant.number)
        trials.append(compare(copy, baseline, variant, words[variant.way]))
        ledger.write(trials)
        print(trials[-1], flush=True)
    return trials


def variants(ways: Sequence[str], repeats: int) -> Iterator[Variant]:
    """All that is measured; clean rebuilds and slowdowns take turns."""
    for way in ways:
        for number in range(1, repeats + 1):
            yield Variant(way, 0.0, number)
            yield Variant(way, SHARES[way], number)


def report(trials: Sequence[Trial]) -> int:
    """Print the counts; 1 if one was missed."""
    missed = [trial for trial in trials if trial.is_missed]
    for way in dict.fromkeys(trial.variant.way for trial in trials):
        of_way = [trial for trial in trials if trial.variant.way == way]
        slow = [trial for trial in of_way if trial.variant.share]
        clean = [trial for trial in of_way if not trial.variant.share]
        found = sum(not trial.is_missed for trial in slow)
        accused = sum(trial.is_missed for trial in clean)
        print(
            f"{way}: {found} of {len(slow)} slowdowns found, {accused} of {len(clean)} clean"
            f" rebuilds accused, {sum(one.verdict == 'no change' for one in clean)} no change"
        )
    clean = [trial for trial in trials if not trial.variant.share]
    unchanged = any(trial.verdict == "no change" for trial in clean)
    return 1 if missed or not unchanged else 0


if __name__ == "__main__":
    sys.exit(main())
