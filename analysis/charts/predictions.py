"""Predictions drawn: over a size with the band of 9 in 10 measurements, and as their factors."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.charts.chart import Chart, Spec
from analysis.charts.layers import (
    UPRIGHT,
    Point,
    backend_colour,
    backends_of,
    dashes,
    fields,
    log_axis,
    row_chart,
    row_names,
    size_axis,
)
from analysis.charts.words import (
    distinct_rows,
    file_stem,
    noun_count,
    path_words,
    question_words,
    remainder_words,
)
from analysis.predict.examples.placements import PREDICTION_TARGETS, Target
from analysis.predict.explanation import Explanation, Factor
from analysis.predict.predictor import NoPrediction, Prediction
from analysis.results.synonyms import axis_words
from analysis.statistics.numbers import amount
from runner.contract.axes import AXIS_NAMES, SIZE_AXES, AxisName
from runner.contract.cell import Cell

_UNITS = {"s": ("ms", 1e3), "samples/s": ("samples/s", 1.0), "bytes": ("MB", 1e-6), "J": ("J", 1.0)}
"""The units in which people read a target, with the factor, by its base unit."""
_MOST_CURVES = 8
"""Lines of one drawing; the first ones are drawn."""
_DASHES = ((1, 0), (8, 3), (3, 3), (10, 3, 2, 3), (6, 2, 1, 2), (2, 5), (12, 4), (1, 3))
_MOST_FACTORS = 12
"""Factors that are drawn; the product of the others is one."""
_ROOM = 1.12
"""Room beside a bar for its number, as a factor."""


def shown_unit(target: Target) -> str:
    return _UNITS[target.unit][0]


def shown_heading(target: Target) -> str:
    """A target with its unit, e.g. `median latency, ms`."""
    return f"{target.label}, {shown_unit(target)}"


def shown_value(value: float, target: Target) -> float:
    """A number of a target, in base units, in the unit that people read."""
    return value * _UNITS[target.unit][1]


def shown_amount(value: float, target: Target) -> str:
    """The same with its unit, e.g. `12.3 ms`."""
    return amount(shown_value(value, target), shown_unit(target))


@dataclass(frozen=True)
class DrawnCell:
    """A cell with one of its predictions."""

    cell: Cell
    device: str
    answer: Prediction | NoPrediction
    measured: float | None
    """The measured value on the same machine, in the base unit; None if there is none."""


def prediction_chart(cells: Sequence[DrawnCell], target_name: str) -> Chart | None:
    """A target over the size that has most values; None without two values of any."""
    target = PREDICTION_TARGETS[target_name]
    known = [(one, one.answer) for one in cells if isinstance(one.answer, Prediction)]
    answered = [one for one, _ in known]
    size = _size_of(answered)
    if size is None:
        return None
    names = _differing(answered, size)
    curves = list(dict.fromkeys(_line_name(one, names) for one in answered))
    drawn = curves[:_MOST_CURVES]
    points = [
        _point(one, answer, target, size, name)
        for one, answer in known
        if (name := _line_name(one, names)) in drawn
    ]
    question = question_words({**vars(answered[0].cell), **dict.fromkeys(names)}, size)
    outside = sum(answer.extrapolates for _, answer in known)
    marks = (
        f" {noun_count(outside, 'point')} of {len(known):,} lie outside of what was measured, where"
        " nothing promises that the band holds."
        if outside
        else ""
    )
    more = remainder_words(len(curves) - len(drawn), "line", "more are not drawn.")
    return Chart(
        file_stem("predicted", target.name, "by", size, question),
        f"Predicted {target.label} by {size.replace('_', ' ')} · {question}",
        f"{_growth(points, target, size)}{marks}{more}",
        _curve_spec(points, target, size, drawn),
        backends_of(points),
    )


def _size_of(cells: Sequence[DrawnCell]) -> AxisName | None:
    """The size with most values; None where no size has two."""
    counts = {name: len({getattr(one.cell, name) for one in cells} - {None}) for name in SIZE_AXES}
    best = max(SIZE_AXES, key=counts.__getitem__)
    return best if counts[best] > 1 else None


def _differing(cells: Sequence[DrawnCell], size: AxisName) -> tuple[str, ...]:
    """The axes but this one on which cells differ, and `device` if they are of several."""
    names = [
        name
        for name in AXIS_NAMES
        if name != size and len({getattr(one.cell, name) for one in cells}) > 1
    ]
    return (*names, *(["device"] if len({one.device for one in cells}) > 1 else []))


def _line_name(one: DrawnCell, names: Sequence[str]) -> str:
    facts = {**vars(one.cell), "device": one.device}
    path = [path_words(facts)] if {"backend", "runtime"} & {*names} else []
    others = [
        axis_words(name, facts[name])
        for name in names
        if name not in {"backend", "runtime"} and facts[name] is not None
    ]
    return ", ".join([*path, *others]) or path_words(facts)


def _point(one: DrawnCell, answer: Prediction, target: Target, size: AxisName, curve: str) -> Point:
    measured = one.measured
    return {
        "cell": one.cell.id,
        "backend": one.cell.backend,
        "device": one.device,
        "curve": curve,
        "size": getattr(one.cell, size),
        "value": shown_value(answer.value, target),
        "low": shown_value(answer.low, target),
        "high": shown_value(answer.high, target),
        "measured": None if measured is None else shown_value(measured, target),
        "number": shown_amount(answer.value, target),
        "interval": f"{shown_amount(answer.low, target)} to {shown_amount(answer.high, target)}",
        "reading": "none" if measured is None else shown_amount(measured, target),
        "outside": "; ".join(answer.outside) or "no",
    }


def _curve_spec(
    points: Sequence[Point], target: Target, size: AxisName, curves: Sequence[str]
) -> Spec:
    colour = backend_colour(backends_of(points))
    numbers = ("value", "low", "high", "measured")
    dash = {**dashes("curve", dict(zip(curves, _DASHES, strict=False))), "title": "predicted"}
    shown = fields(
        cell="cell",
        device="device",
        number="predicted",
        interval="90 % interval",
        reading="measured",
        outside="outside",
    )
    band = {
        "mark": {"type": "area", "opacity": 0.18},
        "encoding": {
            "y": {"field": "low", "type": "quantitative"},
            "y2": {"field": "high"},
            "color": colour,
            "detail": {"field": "curve"},
        },
    }
    rings = {
        "transform": [{"filter": "isValid(datum.measured)"}],
        "mark": {"type": "point", "filled": False, "size": 90, "strokeWidth": 2, "opacity": 1},
        "encoding": {
            "y": {"field": "measured", "type": "quantitative"},
            "color": colour,
            "tooltip": shown,
        },
    }
    return {
        "data": {"values": points},
        "encoding": {
            "x": size_axis("size", size.replace("_", " "), (point["size"] for point in points)),
            "y": log_axis("value", shown_heading(target), points, *numbers),
        },
        "layer": [
            band,
            {
                "mark": {"type": "line", "strokeWidth": 2},
                "encoding": {"color": colour, "strokeDash": dash},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 18, "opacity": 1},
                "encoding": {"color": colour, "tooltip": shown},
            },
            rings,
        ],
    }


def _growth(points: Sequence[Point], target: Target, size: AxisName) -> str:
    """Sentences on the ends of the first line, the band and the measurements in it."""
    ends = [point for point in points if point["curve"] == points[0]["curve"]]
    ends.sort(key=lambda point: int(point["size"]))
    first, last = ends[0], ends[-1]
    subject = "It" if len(ends) == len(points) else points[0]["curve"]
    measured = sum(point["measured"] is not None for point in points)
    rings = f" Rings are {noun_count(measured, 'measurement')}." if measured else ""
    return (
        f"{subject} goes from {first['number']} at {axis_words(size, first['size'])} to"
        f" {last['number']} at {axis_words(size, last['size'])}. The band holds 9 of 10"
        f" measurements of {target.label}.{rings}"
    )


def main_factors(factors: Sequence[Factor], most: int) -> list[Factor]:
    """The factors that change most, and the product of the others as one."""
    first, others = factors[:most], factors[most:]
    if len(others) < 2:
        return [*factors]
    product = math.prod(factor.value for factor in others)
    return [*first, Factor("effect", f"all others ({len(others)})", "", product)]


def factor_name(factor: Factor) -> str:
    """A factor in words: `model on device: bert-tiny …`, or what of it the trees look at."""
    subject = f": {factor.subject}" if factor.subject else ""
    return f"{'trees by ' if factor.origin == 'trees' else ''}{factor.name}{subject}"


def explanation_chart(
    cell_id: str, backend: str, device: str, target: Target, explanation: Explanation
) -> Chart:
    """The factors of one prediction, the greatest on top."""
    drawn = main_factors(explanation.factors, _MOST_FACTORS)
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
    value, low, high, base = (
        shown_amount(number, target)
        for number in (prediction.value, prediction.low, prediction.high, explanation.base)
    )
    shares = ", ".join(f"{name} {share:.0%}" for name, share in explanation.shares.items())
    return Chart(
        file_stem("explained", target.name, cell_id),
        f"What drives the predicted {target.label} of {cell_id}",
        f"Counted work at the peaks of {device} comes to {base} ({shares}). Times these factors,"
        f" that is {value}, between {low} and {high} in 9 of 10 cases.",
        row_chart(points, _factor_axis(points), [*_factor_layers(backend)]),
        (backend,),
    )


def _factor_axis(points: Sequence[Point]) -> Spec:
    """An axis with room for the numbers beside the longest bars."""
    factors = [point["factor"] for point in points]
    ends = [{"factor": end} for end in (1.0, min(factors) / _ROOM, max(factors) * _ROOM)]
    return log_axis("factor", "times what counted work comes to", ends, "factor")


def _factor_layers(backend: str) -> Iterator[Spec]:
    yield {
        "mark": {"type": "bar", "height": 8, "yOffset": 6},
        "encoding": {
            "x2": {"field": "one"},
            "color": backend_colour([backend], legend=False),
            "tooltip": fields(row="factor", words=None),
        },
    }
    yield row_names(dy=-7)
    for sign, align, dx in (("<", "right", -4), (">=", "left", 4)):
        yield {  # beyond the end of each bar
            "transform": [{"filter": f"datum.factor {sign} 1"}],
            "mark": {"type": "text", "dy": 6, "fontSize": 11, "align": align, "dx": dx},
            "encoding": {"text": {"field": "words"}},
        }
    yield {
        "mark": {"type": "rule", "strokeDash": [4, 3], "opacity": 0.6},
        "encoding": {"x": {"datum": 1}, **UPRIGHT},
    }
