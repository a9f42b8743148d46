"""An explanation drawn: the factors that make a prediction of counted work."""

import math
from collections.abc import Sequence
from typing import Any

from analysis.charts.chart import Chart
from analysis.charts.layers import Point, backend_colour, log_axis, named_rows, row_names
from analysis.charts.predictions.units import shown_amount
from analysis.charts.words import distinct_rows, file_stem
from analysis.predict.examples.targets import Target
from analysis.predict.explanation import Explanation, Factor
from analysis.statistics.numbers import amount

MOST_FACTORS = 12
"""Factors that are drawn; the product of the others is one."""
OTHERS = "all others"
_STEP = 34
_ROOM = 1.12
"""Room beside a bar for its number, as a factor."""


def main_factors(factors: Sequence[Factor], most: int) -> list[Factor]:
    """The factors that change most, and the product of the others as one."""
    first, others = factors[:most], factors[most:]
    if len(others) < 2:
        return [*factors]
    product = math.prod(factor.value for factor in others)
    return [*first, Factor("effect", f"{OTHERS} ({len(others)})", "", product)]


def factor_name(factor: Factor) -> str:
    """A factor in words: `model on device: bert-tiny …`, or what of it the trees look at."""
    subject = f": {factor.subject}" if factor.subject else ""
    return f"{'trees by ' if factor.origin == 'trees' else ''}{factor.name}{subject}"


def explanation_chart(
    cell_id: str, backend: str, device: str, target: Target, explanation: Explanation
) -> Chart:
    """The factors of one prediction, the greatest on top."""
    drawn = main_factors(explanation.factors, MOST_FACTORS)
    rows = distinct_rows((factor_name(one), "") for one in drawn)
    points: list[Point] = [
        {
            "row": row,
            "backend": backend,
            "factor": one.value,
            "one": 1.0,
            "words": f"× {amount(one.value)}",
        }
        for row, one in zip(rows, drawn, strict=True)
    ]
    prediction = explanation.prediction
    shares = ", ".join(f"{name} {share:.0%}" for name, share in explanation.shares.items())
    return Chart(
        file_stem("explained", target.name, cell_id),
        f"What drives the predicted {target.label} of {cell_id}",
        f"Counted work at the peaks of {device} comes to {shown_amount(explanation.base, target)}"
        f" ({shares}). Times these factors, that is {shown_amount(prediction.value, target)},"
        f" between {shown_amount(prediction.low, target)} and"
        f" {shown_amount(prediction.high, target)} in 9 of 10 cases.",
        _spec(points, rows),
        (backend,),
    )


def _beyond(points: Sequence[Point]) -> list[Point]:
    """Room for the numbers beside the longest bars."""
    factors = [point["factor"] for point in points]
    return [{"factor": min(factors) / _ROOM}, {"factor": max(factors) * _ROOM}]


def _number_layer(*, below: bool) -> dict[str, Any]:
    """The factors in words, each beyond the end of its bar."""
    aligned = {"align": "right", "dx": -4} if below else {"align": "left", "dx": 4}
    return {
        "transform": [{"filter": f"datum.factor {'<' if below else '>='} 1"}],
        "mark": {"type": "text", "dy": 6, "fontSize": 11, **aligned},
        "encoding": {"text": {"field": "words"}},
    }


def _spec(points: Sequence[Point], rows: Sequence[str]) -> dict[str, Any]:
    drawn = named_rows(rows, _STEP)
    both = [*points, {"factor": 1.0}, *_beyond(points)]
    return {
        "data": {"values": points},
        "height": drawn["height"],
        "encoding": {
            **drawn["encoding"],
            "x": log_axis("factor", "times what counted work comes to", both, "factor"),
        },
        "layer": [
            {
                "mark": {"type": "bar", "height": 8, "yOffset": 6},
                "encoding": {
                    "x2": {"field": "one"},
                    "color": {**backend_colour([points[0]["backend"]]), "legend": None},
                    "tooltip": [{"field": "row", "title": "factor"}, {"field": "words"}],
                },
            },
            row_names(dy=-7),
            *(_number_layer(below=below) for below in (True, False)),
            {
                "mark": {"type": "rule", "strokeDash": [4, 3], "opacity": 0.6},
                "encoding": {"x": {"datum": 1}, "y": {"value": 0}, "y2": {"value": "height"}},
            },
        ],
    }
