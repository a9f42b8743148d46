"""Bars of the acceptance evaluation, and rows that are held against them and printed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from analysis.predict.trials import Accuracy, IntervalQuality, PredictionTrial, joined

COVERAGE = (0.87, 0.93)
"""The share of 90 % intervals that hold what was measured, over all of a split."""
LEAST_OF_PART = 0.80
"""The same in each part of a split."""
LEAST_QUESTIONS = 50
"""Questions from which on a part is held against that."""

LEAST_SHARE = 0.1
"""The share of answers without a mark from which on their coverage is that of the split."""


@dataclass(frozen=True)
class Bar:
    """What a split must reach; None for what is not asked of it."""

    mape: float | None
    median_ape: float | None = None
    within_tenth: float | None = None
    half_width: float | None = None
    """Of intervals, as a factor."""
    by_two_way: float | None = None
    """The MAPE by that of the two-way ratio."""
    covers: bool = True
    """True if the coverage of intervals has its bars."""


@dataclass(frozen=True)
class Check:
    """One figure with its bar."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None

    @property
    def held(self) -> bool:
        """True if the figure reaches its bar."""
        above = self.low is None or self.value >= self.low
        return above and (self.high is None or self.value <= self.high)

    def __str__(self) -> str:
        ends = [f"at least {self.low:g}"] if self.low is not None else []
        ends += [f"at most {self.high:g}"] if self.high is not None else []
        missed = "" if self.held else "  MISSED"
        return f"{self.name} {self.value:.3g} ({', '.join(ends)}){missed}"


@dataclass(frozen=True)
class SplitRow:
    """The figures of a split."""

    name: str
    title: str
    bar: Bar
    trials: Mapping[str, PredictionTrial]
    """By fold or device."""
    parts: Mapping[str, PredictionTrial]
    """Other parts that are looked at, such as processors."""
    averaged: bool = False
    """True if figures are means over the trials, and not of all questions."""

    @property
    def whole(self) -> PredictionTrial:
        """All questions."""
        return joined(self.trials.values())

    @property
    def accuracy(self) -> Accuracy:
        """Our errors."""
        return self._mean([trial.accuracy for trial in self._counted])

    @property
    def baselines(self) -> dict[str, Accuracy]:
        """The errors of baselines on the same questions."""
        of_trials = [trial.baselines for trial in self._counted]
        return {name: self._mean([one[name] for one in of_trials]) for name in of_trials[0]}

    @property
    def promised(self) -> IntervalQuality | None:
        """The intervals of answers that are not marked as extrapolations; None if few are not."""
        whole = self.whole
        part = _promised(whole)
        return part.intervals if len(part.answered) >= LEAST_SHARE * len(whole.answered) else None

    @property
    def checks(self) -> list[Check]:
        """All figures that have a bar."""
        return [*self._error_checks(), *self._interval_checks()]

    @property
    def held(self) -> bool:
        """True if all bars are reached."""
        return all(check.held for check in self.checks)

    @property
    def _counted(self) -> list[PredictionTrial]:
        parts = self.trials.values() if self.averaged else [self.whole]
        return [trial for trial in parts if trial.answered]

    def _mean(self, accuracies: Sequence[Accuracy | None]) -> Accuracy:
        known = [accuracy for accuracy in accuracies if accuracy]
        if not known:
            raise SystemExit(f"{self.name}: no question was answered")
        means = {
            figure.name: sum(getattr(one, figure.name) for one in known) / len(known)
            for figure in fields(Accuracy)
        }
        return Accuracy(**means | {"questions": sum(one.questions for one in known)})

    def _error_checks(self) -> Iterator[Check]:
        bar, ours = self.bar, self.accuracy
        share = ours.mape / self.baselines["two-way"].mape
        yield from (
            check
            for check in (
                Check("MAPE", ours.mape, high=bar.mape),
                Check("median APE", ours.median_ape, high=bar.median_ape),
                Check("within 10 %", ours.within_tenth, low=bar.within_tenth),
                Check("MAPE by that of two-way", share, high=bar.by_two_way),
            )
            if (check.low, check.high) != (None, None)
        )

    def _interval_checks(self) -> Iterator[Check]:
        """Checks of the intervals that promise something; none where all are marked."""
        quality = self.promised
        if quality is None or not self.bar.covers:
            return
        yield Check("coverage", quality.coverage, *COVERAGE)
        if self.bar.half_width is not None:
            yield Check("half-width", quality.half_width, high=self.bar.half_width)
        for name, trial in (self.parts | self.trials).items():
            part = _promised(trial).intervals
            if part is not None and part.questions >= LEAST_QUESTIONS:
                yield Check(f"coverage, {name}", part.coverage, low=LEAST_OF_PART)


def _promised(trial: PredictionTrial) -> PredictionTrial:
    return trial.part(lambda one: not one.prediction.extrapolates)


def print_row(row: SplitRow) -> bool:
    """Print a split with its baselines, bars and parts; true if all bars are reached."""
    whole = row.whole
    print(
        f"\n{row.title}: {len(whole.answered):,} questions answered, {whole.refusals:,} refused,"
        f" {whole.marked:,} marked as extrapolations"
    )
    for name, accuracy in {"ours": row.accuracy, **row.baselines}.items():
        print(f"  {name:<10}{_errors(accuracy)}")
    for name, trial in (row.parts | row.trials).items():
        for line in _part(name, trial):
            print(line)
    print(f"  90 % intervals: {_intervals(row.promised)}, of answers without a mark")
    for check in row.checks:
        print(f"  {check}")
    data = {
        "measurement": "prediction",
        "part": row.name,
        "ours": asdict(row.accuracy),
        "baselines": {name: asdict(accuracy) for name, accuracy in row.baselines.items()},
        "intervals": asdict(row.promised) if row.promised else None,
        "refused": whole.refusals,
        "marked": whole.marked,
        "checks": [asdict(check) for check in row.checks],
        "held": row.held,
    }
    print(json.dumps(data), flush=True)
    return row.held


def _errors(accuracy: Accuracy) -> str:
    return (
        f"MAPE {accuracy.mape:7.1%}  median {accuracy.median_ape:6.1%}"
        f"  within 10 % {accuracy.within_tenth:4.0%}  bias {accuracy.bias:+.1%}"
    )


def _part(name: str, trial: PredictionTrial) -> Iterator[str]:
    accuracy = trial.accuracy
    if accuracy is not None:
        errors, intervals = _errors(accuracy), _intervals(trial.intervals)
        yield f"    {name}: {accuracy.questions:,} answers, {errors}, {intervals}"
    for reason, count in sorted(trial.refused.items()):
        yield f"    {name}: {count:,} refused: {reason}"


def _intervals(quality: IntervalQuality | None) -> str:
    if quality is None:
        return "none"
    return f"hold {quality.coverage:.1%}, half-width ×{quality.half_width:.2f}"
