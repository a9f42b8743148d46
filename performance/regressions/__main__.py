"""Regression verdicts on simulated runs and series, whose noise is that of real replicates.

Clean comparisons should be accused in at most 1 %, whatever their noise, their history and the
number of cells that are judged together. With 5 launches a side, 95 % of the steps of −5 % should
be found where launches have a cv of 1 %, and of −10 % at 2 %; of −3 % in 24 rounds side by side
whose ratios vary by 2 %. A step of −5 % leaves 95 % of the speed: times are those before by 0.95.
Change points should be found within one launch in 90 % of series of a hundred launches, and none in
98 % of those without a step. A thousand such series should be judged in 10 s, from a database.

`python -m performance regressions false_alarms steps` runs these parts alone.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from orchestrator.planning.groups import LOOKS
from performance.regressions.families import Family, StepSetting, find_steps, watched_verdicts
from performance.regressions.many_cells import judge_many
from performance.regressions.noise import ReplicateNoise, replicate_noise

SEED = 19
COMPARISONS = 3_000
"""Clean comparisons of a setting."""
STEPS = 600
"""Changed cells of a setting."""
SERIES_COUNT = 500
MOST_FALSE, LEAST_FOUND, LEAST_NEAR, LEAST_CLEAN, LONGEST_S = 0.01, 0.95, 0.90, 0.98, 10.0
ROUNDS = LOOKS[-1]
BESIDE_CV = 0.015
"""Coefficient of variation of a launch whose neighbour is side by side: what differs by more from
one second to the next is gone. Their ratio varies by 2.1 %; of real ones by 1 to 3 %."""
HISTORY = 8
FAMILIES = (1, 20, 200)
SLOWER = {0.05: 0.01, 0.10: 0.02}
"""Steps that must be found, with the coefficient of variation of launches."""
WITHOUT_HISTORY = 0.7
"""The share of that coefficient up to which they must be found where a series has no history: at
all of it, the launches of two runs do not tell what runs add. That is printed beside it."""


def main() -> int:
    """Simulate all parts, or those named; 1 if a bar is missed."""
    parts = sys.argv[1:] or list(PARTS)
    if unknown := [part for part in parts if part not in PARTS]:
        print(f"{' '.join(unknown)}: no part; there are {', '.join(PARTS)}")
        return 2
    noise = replicate_noise()
    for cell in noise.cells:
        print(
            f"{cell.cell_id:<48} launches differ by {cell.cv:.2%}, runs by {cell.ratio:.2f} of it"
        )
    print(f"all: runs differ by {noise.ratio:.2f} of what launches do")
    held = [PARTS[part](noise) for part in parts]
    return 0 if all(held) else 1


def false_alarms(noise: ReplicateNoise) -> bool:
    """Judge runs in which nothing changed."""
    print(f"\nclean comparisons, {COMPARISONS} of each kind: accused (at most {MOST_FALSE:.0%})")
    settings = [
        Family(cells, cv, launches=launches, history=history)
        for launches, history in ((5, 0), (5, HISTORY), (1, 20))
        for cv in (0.01, 0.02, 0.05)
        for cells in FAMILIES
    ]
    held = [_false_alarms(family, noise) for family in settings]
    return all(held)


def _false_alarms(family: Family, noise: ReplicateNoise) -> bool:
    random = np.random.default_rng(SEED)
    runs = [
        Counter(watched_verdicts(family, noise, random)) for _ in range(COMPARISONS // family.cells)
    ]
    counts = sum(runs, Counter())
    alarms = [run["regression"] + run["improvement"] for run in runs]
    accused = sum(alarms) / counts.total()
    data = {
        "accused": accused,
        "inconclusive": counts["inconclusive"] / counts.total(),
        "runs_with_any": sum(map(bool, alarms)) / len(runs),
    }
    return _report("false_alarms", family, data, held=accused <= MOST_FALSE)


def steps(noise: ReplicateNoise) -> bool:
    """Judge runs in which few cells became slower."""
    print(f"\nsteps, {STEPS} of each kind: found (at least {LEAST_FOUND:.0%})")
    held = []
    for history, share in ((HISTORY, 1.0), (0, WITHOUT_HISTORY), (0, 1.0)):
        bar = 0.0 if (history, share) == (0, 1.0) else LEAST_FOUND
        for slower, cv in SLOWER.items():
            for cells in FAMILIES:
                family = Family(cells, share * cv, step=1 / (1 - slower), history=history)
                held.append(_steps(family, noise, bar))
    return all(held)


def rounds(noise: ReplicateNoise) -> bool:
    """Judge runs that were measured side by side with the baseline.

    Measuring ends when the verdict on a cell alone is clear. Among many cells it takes more to be
    one, so that the share of steps that is found there is printed, not promised.
    """
    print(f"\nup to {ROUNDS} rounds side by side, threshold 3 %")
    held = []
    for cells in FAMILIES[:2]:
        clean = Family(cells, BESIDE_CV, launches=ROUNDS, side_by_side=True, threshold=0.03)
        held.append(_false_alarms(clean, noise))
        bar = LEAST_FOUND if cells == 1 else 0.0
        held.append(_steps(replace(clean, step=1 / 0.97), noise, bar))
    return all(held)


def _steps(family: Family, noise: ReplicateNoise, bar: float) -> bool:
    random = np.random.default_rng(SEED)
    counts: Counter[str] = Counter()
    for _ in range(STEPS // family.changed):
        counts.update(watched_verdicts(family, noise, random))
    data = {
        name: counts[name] / counts.total()
        for name in ("regression", "inconclusive", "no change", "improvement")
    }
    return _report("steps", family, data, held=data["regression"] >= bar)


def _report(part: str, family: Family, data: Mapping[str, float], *, held: bool) -> bool:
    unit = "rounds" if family.side_by_side else "launches"
    step = "" if family.step == 1 else f"{1 / family.step - 1:+.0%}, "
    title = f"{step}cv {family.cv:.1%}, {family.launches} {unit}, {family.history} earlier runs"
    shares = ", ".join(f"{name.replace('_', ' ')} {share:.2%}" for name, share in data.items())
    print(f"{family.cells:>3} cells, {title}: {shares}{'' if held else '  MISSED'}")
    line = {"measurement": "regressions", "part": part, **vars(family), **data, "held": held}
    print(json.dumps(line), flush=True)
    return held


def change_points(noise: ReplicateNoise) -> bool:
    """Look for steps in series of a hundred launches."""
    print(f"\nseries of 100 launches, {SERIES_COUNT} of each kind")
    settings = [
        StepSetting(launches, cv, step)
        for launches in (1, 5)
        for step, cv in (
            *((1.0, cv) for cv in (0.01, 0.02, 0.05)),
            *((1 / (1 - slower), cv) for slower, cv in SLOWER.items()),
        )
    ]
    held = [_change_points(setting, noise) for setting in settings]
    return all(held)


def _change_points(setting: StepSetting, noise: ReplicateNoise) -> bool:
    found = find_steps(setting, noise, np.random.default_rng(SEED), SERIES_COUNT)
    if setting.step == 1:
        title, held = "no step", found.none >= LEAST_CLEAN
        shares = f"none found in {found.none:.1%} (at least {LEAST_CLEAN:.0%})"
    else:
        title, held = f"a step of {1 / setting.step - 1:+.0%}", found.within_one >= LEAST_NEAR
        shares = f"found within one launch in {found.within_one:.1%} (at least {LEAST_NEAR:.0%})"
        shares += f", others in {found.more:.1%}"
    runs = f"runs of {setting.launches_a_run}, cv {setting.cv:.0%}"
    print(f"{title}, {runs}: {shares}{'' if held else '  MISSED'}")
    line = {"measurement": "regressions", "part": "change_points"}
    print(json.dumps({**line, **vars(setting), **vars(found), "held": held}), flush=True)
    return held


def speed(_: ReplicateNoise) -> bool:
    """Judge a thousand cells of a database, with a step in few of them and in all."""
    held = True
    for launches, share in ((5, 0.05), (1, 0.05), (5, 1.0)):
        taken_s, counts = judge_many(share, launches)
        kept = taken_s <= LONGEST_S or share == 1
        held &= kept
        title = f"a thousand cells of a hundred launches, {launches} a run, steps in {share:.0%}"
        missed = "" if kept else "  MISSED"
        print(f"\n{title}: {taken_s:.1f} s (at most {LONGEST_S:g} s){missed}: {dict(counts)}")
        line = {"measurement": "regressions", "part": "speed", "stepped": share}
        print(json.dumps({**line, "launches": launches, "seconds": round(taken_s, 2)}), flush=True)
    return held


PARTS: Mapping[str, Callable[[ReplicateNoise], bool]] = {
    "false_alarms": false_alarms,
    "steps": steps,
    "rounds": rounds,
    "change_points": change_points,
    "speed": speed,
}

if __name__ == "__main__":
    sys.exit(main())
