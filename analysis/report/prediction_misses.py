"""Largest misses of predictions: hidden results, what was predicted, and what spoke against it."""

from collections.abc import Iterable

from analysis.charts.predictions.units import shown_unit, shown_value
from analysis.charts.words import path_words
from analysis.predict.examples.placements import Target
from analysis.predict.kept_evaluation import KeptAnswer, KeptTrial
from analysis.predict.novelty import NAMED_NOVELTIES, Novelty
from analysis.predict.trials import NEAR
from analysis.results.table import Field, RowFacts, Table

_MOST_ROWS = 100


def miss_table(target: Target, title: str, trials: Iterable[tuple[Novelty, KeptTrial]]) -> Table:
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
    table = Table(title, columns, shown, (note,), f"misses_{target.name}", left_out=more)
    return table.filled()


def _miss_columns(target: Target) -> tuple[Field, ...]:
    unit = shown_unit(target).name
    return (
        Field("novelty", "asked about"),
        Field("model"),
        Field("ratio", "off by", "change"),
        Field("measured", f"measured, {unit}", "number"),
        Field("predicted", f"predicted (90 %), {unit}", "number", "low", "high"),
        Field("held", "in its interval"),
        Field("device"),
        Field("path", kind="id"),
        Field("batch_size", "batch", "number"),
        Field("length", kind="number"),
        Field("outside", "extrapolation", "prose"),
    )


def _miss_row(one: KeptAnswer, target: Target, novelty: Novelty) -> RowFacts:
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
