"""Largest misses of predictions: hidden results, what was predicted, and what spoke against it."""

from collections.abc import Iterable

from analysis.charts.predictions.units import shown_unit, shown_value
from analysis.charts.words import path_words
from analysis.predict.evaluation.accuracy import NEAR
from analysis.predict.examples.targets import Target
from analysis.predict.kept_evaluation import KeptAnswer, KeptTrial
from analysis.predict.novelty import Novelty
from analysis.predict.novelty_words import NAMED_NOVELTIES
from analysis.report.report import ReportColumn, ReportRow, ReportTable

_MOST_ROWS = 100


def miss_table(
    target: Target, title: str, trials: Iterable[tuple[Novelty, KeptTrial]]
) -> ReportTable:
    """The hidden results of a target that were predicted worst, the worst first."""
    misses = [
        (one, novelty) for novelty, trial in trials for one in trial.misses if one.error > NEAR
    ]
    misses.sort(key=lambda miss: -miss[0].error)
    rows = [_miss_row(one, target, novelty) for one, novelty in misses]
    note = (
        "Of each way of asking, the hidden results that were predicted worst, if they are off by"
        f" more than {100 * NEAR:.0f} %."
    )
    shown, more = rows[:_MOST_ROWS], max(0, len(rows) - _MOST_ROWS)
    columns = _miss_columns(target)
    table = ReportTable(f"misses_{target.name}", title, columns, shown, (note,), more)
    return table.without_empty_columns()


def _miss_columns(target: Target) -> tuple[ReportColumn, ...]:
    unit = shown_unit(target).name
    return (
        ReportColumn("novelty", "asked about"),
        ReportColumn("model", "model"),
        ReportColumn("ratio", "off by", "change"),
        ReportColumn("measured", f"measured, {unit}", "number"),
        ReportColumn("predicted", f"predicted (90 %), {unit}", "number", "low", "high"),
        ReportColumn("held", "in its interval"),
        ReportColumn("device", "device"),
        ReportColumn("path", "path", "id"),
        ReportColumn("batch_size", "batch", "number"),
        ReportColumn("length", "length", "number"),
        ReportColumn("outside", "extrapolation", "prose"),
    )


def _miss_row(one: KeptAnswer, target: Target, novelty: Novelty) -> ReportRow:
    path = path_words({"backend": one.backend, "runtime": one.runtime})
    mode = [] if one.mode == "inference" else [one.mode]
    names = ("predicted", "low", "high", "measured")
    return {
        "novelty": NAMED_NOVELTIES[novelty].measured,
        "model": one.model,
        "device": one.device,
        "path": " ".join([path, one.precision, *mode]),
        "batch_size": one.batch_size,
        "length": one.length,
        **{name: shown_value(getattr(one, name), target) for name in names},
        "ratio": one.predicted / one.measured,
        "held": one.held,
        "outside": "; ".join(one.outside) or None,
    }
