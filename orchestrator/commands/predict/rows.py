"""Predicted cells as rows for other programs: axes, predictions, what was measured, trust."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.predict.examples.targets import PREDICTION_TARGETS
from analysis.predict.novelty import NOVELTIES
from analysis.predict.predictor import NoPrediction, Prediction
from orchestrator.commands.predict.axes import PREDICTED_NAMES
from orchestrator.commands.predict.forecasts import PredictedCell

TRUST_COLUMNS = ("novelty", "extrapolation", "reason")


def value_columns(target: str) -> tuple[str, str, str, str]:
    """The columns of a target: its prediction, the ends of the 90 % interval, what was measured."""
    column = PREDICTION_TARGETS[target].column
    ends = (f"{column}_low_predicted", f"{column}_high_predicted")
    return (f"{column}_predicted", *ends, column)


def predicted_rows(
    cells: Sequence[PredictedCell], targets: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """A row for each cell, in base units."""
    columns = {target: value_columns(target) for target in targets}
    for one in cells:
        row: dict[str, Any] = {name: getattr(one.cell, name) for name in PREDICTED_NAMES}
        row["hardware"] = one.machine.name if one.machine else None
        for target, (value, low, high, measured) in columns.items():
            answer = one.answers[target]
            known = answer if isinstance(answer, Prediction) else None
            row[value] = known and known.value
            row[low] = known and known.low
            row[high] = known and known.high
            row[measured] = one.measured.get(target)
        yield row | trust_of(one.answers)


def trust_of(answers: Mapping[str, Prediction | NoPrediction]) -> dict[str, Any]:
    """The novelty of a cell, the features that leave the domain, and the reason of a refusal.

    Of several targets the one that least is known of counts.
    """
    predictions = [one for one in answers.values() if isinstance(one, Prediction)]
    refused = [one.reason for one in answers.values() if isinstance(one, NoPrediction)]
    outside = dict.fromkeys(sentence for one in predictions for sentence in one.outside)
    novelty = max((one.novelty for one in predictions), key=NOVELTIES.index, default=None)
    return {
        "novelty": novelty,
        "extrapolation": bool(outside) if predictions else None,
        "reason": "; ".join(dict.fromkeys([*refused, *outside])) or None,
    }
