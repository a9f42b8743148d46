"""Rows of the evaluation as lines, as JSON and as a Markdown table."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from analysis.predict.evaluation.accuracy import Accuracy, IntervalQuality
from analysis.predict.evaluation.baselines import PREDICTION_BASELINES
from analysis.predict.evaluation.trials import PredictionTrial
from performance.prediction.bars import COVERAGE, Bar, Check, SplitRow

_MISSED = "  MISSED"
_WIDTH = 10


def print_row(row: SplitRow) -> bool:
    """Print a split with its baselines, bars and parts; true if all bars are reached."""
    whole = row.whole
    print(
        f"\n{row.title}: {len(whole.answered):,} questions answered, {whole.refusals:,} refused,"
        f" {whole.marked:,} marked as extrapolations"
    )
    for name, accuracy in {"ours": row.accuracy, **row.baselines}.items():
        print(f"  {name:<{_WIDTH}}{_errors(accuracy)}")
    print(f"  {'bar':<{_WIDTH}}{_bar(row.bar)}")
    for name, accuracy in row.others.items():
        print(f"  ours, {name}: {_errors(accuracy)}")
    for name, trial in (row.parts | row.trials).items():
        for line in _part(name, trial):
            print(line)
    print(f"  90 % intervals: {_intervals(row.promised)}, of answers without a mark")
    for check in row.checks:
        if not check.held:
            print(f"  {check_words(check)}{_MISSED}")
    print(json.dumps(_data(row)), flush=True)
    return row.held


def print_check(measurement: str, check: Check) -> bool:
    """Print one figure with its bar; true if it is reached."""
    print(f"  {check_words(check)}{'' if check.held else _MISSED}")
    print(json.dumps({"measurement": "prediction", "part": measurement, **asdict(check)}))
    return check.held


def check_words(check: Check) -> str:
    """A figure with its bar in words, e.g. `MAPE 0.071 (at most 0.08)`."""
    ends = [f"at least {check.low:g}"] if check.low is not None else []
    ends += [f"at most {check.high:g}"] if check.high is not None else []
    return f"{check.name} {check.value:.3g} ({', '.join(ends)})"


def markdown_rows(rows: Sequence[SplitRow]) -> Iterator[str]:
    """The table of all splits, as the documentation has it."""
    names = " | ".join(PREDICTION_BASELINES)
    yield f"| split | questions | ours | bar | {names} | 90 % intervals |"
    yield "|---|---:|---:|---:|" + "---:|" * len(PREDICTION_BASELINES) + "---:|"
    for row in rows:
        baselines = " | ".join(_short(row.baselines[name]) for name in PREDICTION_BASELINES)
        bar = "/".join(
            "–" if value is None else f"{value * 100:g}"
            for value in (row.bar.mape, row.bar.median_ape, row.bar.within_tenth)
        )
        quality = row.promised
        intervals = f"{quality.coverage:.0%}, ×{quality.half_width:.2f}" if quality else "marked"
        count = f"{row.accuracy.questions:,}"
        ours = _short(row.accuracy)
        yield f"| {row.title} | {count} | {ours} | {bar} | {baselines} | {intervals} |"


def _short(accuracy: Accuracy) -> str:
    """MAPE, median APE and share within 10 %, in percent."""
    mape, median = _percent(accuracy.mape), _percent(accuracy.median_ape)
    return f"{mape}/{median}/{accuracy.within_tenth * 100:.0f}"


def _percent(share: float) -> str:
    return f"{share * 100:.1f}" if share < 1 else f"{share * 100:,.0f}"


def _errors(accuracy: Accuracy) -> str:
    return (
        f"MAPE {accuracy.mape:7.1%}  median {accuracy.median_ape:6.1%}"
        f"  within 10 % {accuracy.within_tenth:4.0%}  bias {accuracy.bias:+.1%}"
    )


def _bar(bar: Bar) -> str:
    parts = [f"MAPE {bar.mape:7.1%}" if bar.mape is not None else "none"]
    if bar.median_ape is not None:
        parts.append(f" median {bar.median_ape:6.1%}")
    if bar.within_tenth is not None:
        parts.append(f" within 10 % {bar.within_tenth:4.0%}")
    if bar.by_two_way is not None:
        parts.append(f" MAPE by two-way's {bar.by_two_way:g}")
    if bar.half_width is not None:
        parts.append(f" half-width ×{bar.half_width:g}")
    if bar.covers:
        parts.append(f" coverage {COVERAGE[0]:.0%} to {COVERAGE[1]:.0%}")
    return " ".join(parts)


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


def _data(row: SplitRow) -> dict[str, object]:
    return {
        "measurement": "prediction",
        "part": row.name,
        "ours": asdict(row.accuracy),
        "others": {name: asdict(accuracy) for name, accuracy in row.others.items()},
        "baselines": {name: asdict(accuracy) for name, accuracy in row.baselines.items()},
        "intervals": asdict(row.promised) if row.promised else None,
        "refused": row.whole.refusals,
        "marked": row.whole.marked,
        "checks": [asdict(check) | {"held": check.held} for check in row.checks],
        "held": row.held,
    }
