"""Words about how sure numbers are, three lines each: intervals, grades, noise and verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Word:
    """A word with its meaning, how to read it, and where it stands or leads."""

    name: str
    lines: tuple[str, str, str]
    others: Sequence[str] = ()
    """Other names of the same."""


STATISTIC_WORDS: Sequence[Word] = (
    Word(
        "autocorrelation",
        (
            "How much one duration says about the next: 0 nothing, 1 everything.",
            "Durations that repeat each other count as fewer measurements than there are.",
            "High values widen the interval and lower the grade; columns `autocorrelation`, "
            "`effective_iterations`.",
        ),
    ),
    Word(
        "calibration",
        (
            "What fresh processes of one cell differ by on this machine, measured once.",
            "Records of one process use it for their interval; without it their grade is C.",
            "`orchestrator doctor --calibrate` takes some minutes.",
        ),
    ),
    Word(
        "cv",
        (
            "Coefficient of variation: the standard deviation divided by the mean.",
            "5 % says that single durations spread little around their mean.",
            "A high one often means that other processes were at work.",
        ),
        ("coefficient of variation",),
    ),
    Word(
        "fixed arithmetic",
        (
            "A short loop of known work, run before and after a cell.",
            "It should always take the same time; its spread shows how noisy the machine was.",
            "If it spreads, stop what else runs and measure again.",
        ),
        ("kernel spread",),
    ),
    Word(
        "grade",
        (
            "What a number can be used for, from A, the best, to D: nothing, do not quote it.",
            "A shows differences as small as its own ±, B of 5 %, C of 20 %.",
            "`orchestrator status last --why` says what speaks against a number, and the remedy.",
        ),
    ),
    Word(
        "noise",
        (
            "Differences between runs of a series though nothing changed.",
            "`regress` takes it from pairs of launches, the series' history, the launches of both,",
            "the host's calibration or the A/A study: the first of these that there is.",
        ),
        ("noise of", "A/A study"),
    ),
    Word(
        "p90",
        (
            "The duration that 90 % of the iterations stayed below; p99 likewise for 99 %.",
            "Shown only where enough independent iterations support it: 64 for p90, 662 for p99.",
            "A dash says that there were fewer.",
        ),
        ("p99", "percentile", "p90 ms", "p99 ms"),
    ),
    Word(
        "regression",
        (
            "A cell that became worse, beyond noise and chance, by what may matter.",
            "no change: a change that matters is excluded. inconclusive: nothing is shown,",
            "and the reason says what would decide. not comparable: both are of two series.",
        ),
        ("improvement", "no change", "inconclusive", "not comparable"),
    ),
    Word(
        "round",
        (
            "One launch's share of a cell's iterations: fresh process, fresh load.",
            "Processes differ more than iterations do, so several rounds show more.",
            "`standard` takes 3 at least; `drift` is the range of their medians.",
        ),
        ("rounds", "drift"),
    ),
    Word(
        "series",
        (
            "Results that may be compared: same cell, model, weights, machine, launcher, threads.",
            "`changed:` names one that differs from the last; the view `history` has them all.",
            "With the same software one grade is wrong: the view `contradictions` names it.",
        ),
        ("changed", "contradictions"),
    ),
    Word(
        "±",
        (
            "Half the width of the median's 95 % interval, divided by the median.",
            "64.7 ms ± 1 % says: fresh processes on this machine take about 64.1 to 65.3 ms.",
            "Another day may differ by more: the grade says what differences can be told.",
        ),
        ("± %", "+-", "interval"),
    ),
)
