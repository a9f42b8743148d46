"""How often changes over time are named, on simulated rounds with and without one.

Without a change it should happen in at most 1.5 % of cells, however much durations depend on each
other (AR(1) up to 0.9) and although fresh processes differ by 3 %, which a calibration has told,
whether they are independent or, being near in time, alike. The same holds for six rounds or more of
an unknown host whose processes differ by up to 10 %. A hump of 1.0, 1.3, 1.0 over three rounds, and
a step of a quarter in the middle of a steady phase, should be named in 95 %.
"""

import json
import sys
from dataclasses import dataclass

import numpy as np

from performance.simulated import SPACING_S, chance, levels, series
from runner.job.replication import SIGNIFICANCE
from runner.measure.grade import DRIFT
from runner.measure.statistics.drift import UNKNOWN_BETWEEN, change_inside, drift

REPETITIONS = 1_000
BETWEEN = 0.03
MOST_FALSE, LEAST_FOUND = 0.015, 0.95
MEMORIES = (0.0, 0.5, 0.8, 0.9)
COUNTS = (7, 20, 100)
ROUNDS = (3, 10)
NEAR = (3, 6, 12, 30)


def main() -> int:
    """Simulate, print each share, and return 1 if one misses its bar by more than chance does."""
    held = True
    for setting in SETTINGS:
        share, bar = share_named(setting), setting.bar
        margin = chance(bar, REPETITIONS)
        ok = share >= bar - margin if setting.has_change else share <= bar + margin
        held &= ok
        print(f"{setting.title:<66} {share:6.1%} (bar {bar:.1%}){'' if ok else '  MISSED'}")
        data = {"measurement": "drift", "setting": setting.title, "share": share, "held": ok}
        print(json.dumps(data), flush=True)
    return 0 if held else 1


@dataclass(frozen=True)
class Setting:
    """What is simulated: rounds, or one steady phase in which a step may lie."""

    name: str
    count: int
    """Durations of a round."""
    cv: float
    memory: float
    levels: tuple[float, ...] = ()
    """Levels of the rounds, beside what processes differ by; none for one steady phase."""
    step: float = 1.0
    """Factor of the second half of one steady phase."""
    spacing_s: float | None = None
    """Seconds from one round to the next; None if they are independent."""
    between: float = BETWEEN
    """Deviation of fresh processes."""
    known: float = BETWEEN
    """The deviation that a calibration has told, or the default."""

    @property
    def has_change(self) -> bool:
        """True if something changes that should be named."""
        return len(set(self.levels)) > 1 or self.step != 1.0

    @property
    def bar(self) -> float:
        """The most or the least share in which a change may be named."""
        return LEAST_FOUND if self.has_change else MOST_FALSE

    @property
    def title(self) -> str:
        """The setting in words."""
        known = "" if self.known == BETWEEN else ", by default"
        return (
            f"{self.name}{known}, AR(1) {self.memory}, {self.count} durations of cv {self.cv:.0%}"
        )


SETTINGS = [
    *(
        Setting(f"{rounds} rounds without drift", count, 0.1, memory, (1.0,) * rounds)
        for memory in MEMORIES
        for count in COUNTS
        for rounds in ROUNDS
    ),
    *(
        Setting(f"{n} near rounds without drift", 20, cv, 0.0, (1.0,) * n, spacing_s=SPACING_S)
        for cv in (0.01, 0.1)
        for n in NEAR
    ),
    *(
        Setting(
            f"{n} rounds of an unknown host, {between:.0%} apart",
            *(20, 0.05, 0.0, (1.0,) * n),
            between=between,
            known=UNKNOWN_BETWEEN,
        )
        for between in (0.06, 0.08, 0.1)
        for n in (6, 12, 30)
    ),
    *(
        Setting("one phase without a change", count, 0.1, memory)
        for memory in MEMORIES
        for count in COUNTS
    ),
    *(
        Setting("hump 1.0, 1.3, 1.0", count, cv, 0.0, (1.0, 1.3, 1.0), known=known)
        for known in (BETWEEN, UNKNOWN_BETWEEN)
        for count, cv in ((20, 0.01), (100, 0.02), (100, 0.1))
    ),
    Setting("hump of near rounds", 20, 0.02, 0.0, (1.0, 1.3, 1.0), spacing_s=SPACING_S),
    *(
        Setting("step of 25 %", count, cv, memory, step=1.25)
        for count, cv, memory in ((100, 0.05, 0.0), (300, 0.1, 0.0), (300, 0.1, 0.5))
    ),
]


def share_named(setting: Setting) -> float:
    """The share of repetitions in which a change is named."""
    random = np.random.default_rng(0)
    test = _differs if setting.levels else _changes
    return sum(test(random, setting) for _ in range(REPETITIONS)) / REPETITIONS


def _differs(random: np.random.Generator, setting: Setting) -> bool:
    processes = levels(random, setting.between, setting.spacing_s)
    rounds = [
        level * next(processes) * series(random, setting.count, setting.cv, setting.memory)
        for level in setting.levels
    ]
    spacing_s = setting.spacing_s
    moments = None if spacing_s is None else [spacing_s * n for n in range(len(rounds))]
    result = drift(rounds, setting.known, moments)
    if result is None or result.change is None or result.p_value >= SIGNIFICANCE:
        return False
    return DRIFT.grade(result.change) is not None


def _changes(random: np.random.Generator, setting: Setting) -> bool:
    durations = series(random, setting.count, setting.cv, setting.memory)
    durations[setting.count // 2 :] *= setting.step
    change = change_inside(durations)
    if change is None or change.p_value >= SIGNIFICANCE:
        return False
    return DRIFT.grade(abs(change.size)) is not None


if __name__ == "__main__":
    sys.exit(main())
