"""Predictions over a size: a line with the band that 9 of 10 measurements lie in."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.charts.chart import Chart, Spec
from analysis.charts.layers import Point, backend_colour, backends_of, log_axis, size_axis
from analysis.charts.predictions.units import shown_amount, shown_heading, shown_value
from analysis.charts.words import file_stem, noun_count, path_words, question_words
from analysis.predict.examples.placements import PREDICTION_TARGETS, Target
from analysis.predict.predictor import NoPrediction, Prediction
from analysis.results.synonyms import axis_words
from runner.contract.axes import AXIS_NAMES, SIZE_AXES, AxisName
from runner.contract.cell import Cell

MOST_CURVES = 8
"""Lines of one drawing; the first ones are drawn."""
_DASHES = ((1, 0), (8, 3), (3, 3), (10, 3, 2, 3), (6, 2, 1, 2), (2, 5), (12, 4), (1, 3))


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
    known = [one for one in cells if isinstance(one.answer, Prediction)]
    size = _size_of(known)
    if size is None:
        return None
    names = _differing(known, size)
    curves = list(dict.fromkeys(_words(one, names) for one in known))
    points = [
        _point(one, one.answer, target, size, _words(one, names))
        for one in known
        if isinstance(one.answer, Prediction) and _words(one, names) in curves[:MOST_CURVES]
    ]
    facts = {**vars(known[0].cell), **dict.fromkeys(names)}
    question = question_words(facts, size)
    return Chart(
        file_stem("predicted", target.name, "by", size, question),
        f"Predicted {target.label} by {_noun(size)} · {question}",
        _sentence(points, known, len(curves) - MOST_CURVES, target, size),
        _spec(points, target, size, curves[:MOST_CURVES]),
        backends_of(points),
    )


def _size_of(cells: Sequence[DrawnCell]) -> AxisName | None:
    """The size with most values; None where no size has two."""
    counts = {name: len({getattr(one.cell, name) for one in cells} - {None}) for name in SIZE_AXES}
    best = max(SIZE_AXES, key=counts.__getitem__)
    return best if counts[best] > 1 else None


def _noun(size: str) -> str:
    return size.replace("_", " ")


def _differing(cells: Sequence[DrawnCell], size: AxisName) -> tuple[str, ...]:
    """The axes but this one on which cells differ, and `device` if they are of several."""
    names = [
        name
        for name in AXIS_NAMES
        if name != size and len({getattr(one.cell, name) for one in cells}) > 1
    ]
    return (*names, *(["device"] if len({one.device for one in cells}) > 1 else []))


def _words(one: DrawnCell, names: Sequence[str]) -> str:
    """The name of the line that a cell is a point of."""
    facts = {**vars(one.cell), "device": one.device}
    path = [path_words(facts)] if {"backend", "runtime"} & {*names} else []
    others = [
        axis_words(name, facts[name])
        for name in names
        if name not in {"backend", "runtime"} and facts[name] is not None
    ]
    return ", ".join([*path, *others]) or path_words(facts)


def _point(one: DrawnCell, answer: Prediction, target: Target, size: AxisName, curve: str) -> Point:
    return {
        "cell": one.cell.id,
        "backend": one.cell.backend,
        "device": one.device,
        "curve": curve,
        "size": getattr(one.cell, size),
        "value": shown_value(answer.value, target),
        "low": shown_value(answer.low, target),
        "high": shown_value(answer.high, target),
        "measured": None if one.measured is None else shown_value(one.measured, target),
        "number": shown_amount(answer.value, target),
        "interval": f"{shown_amount(answer.low, target)} to {shown_amount(answer.high, target)}",
        "reading": "none" if one.measured is None else shown_amount(one.measured, target),
        "outside": "; ".join(answer.outside) or "no",
    }


def _spec(
    points: Sequence[Point], target: Target, size: AxisName, curves: Sequence[str]
) -> dict[str, Any]:
    colour = backend_colour(backends_of(points))
    sizes = (point["size"] for point in points)
    return {
        "data": {"values": points},
        "encoding": {
            "x": size_axis("size", _noun(size), sizes),
            "y": log_axis("value", shown_heading(target), points, *_NUMBERS),
        },
        "layer": [
            {
                "mark": {"type": "area", "opacity": 0.18},
                "encoding": {
                    "y": {"field": "low", "type": "quantitative"},
                    "y2": {"field": "high"},
                    "color": colour,
                    "detail": {"field": "curve"},
                },
            },
            {
                "mark": {"type": "line", "strokeWidth": 2},
                "encoding": {"color": colour, "strokeDash": _dash(curves)},
            },
            *_point_layers(colour),
        ],
    }


_NUMBERS = ("value", "low", "high", "measured")


def _dash(curves: Sequence[str]) -> Spec:
    scale = {"domain": [*curves], "range": [list(dash) for dash in _DASHES[: len(curves)]]}
    legend = None if len(curves) == 1 else {"symbolType": "stroke", "symbolSize": 400}
    title = {"title": "predicted"}
    return {"field": "curve", "type": "nominal", "scale": scale, "legend": legend, **title}


def _point_layers(colour: Spec) -> Iterator[Spec]:
    """Small points where something was predicted, large ones where it was measured too."""
    shown = {"number": "predicted", "interval": "90 % interval", "reading": "measured"}
    fields = ["cell", "device", *shown, "outside"]
    tooltip = [{"field": name, "title": shown.get(name, name)} for name in fields]
    yield {
        "mark": {"type": "point", "filled": True, "size": 18, "opacity": 1},
        "encoding": {"color": colour, "tooltip": tooltip},
    }
    yield {
        "transform": [{"filter": "isValid(datum.measured)"}],
        "mark": {"type": "point", "filled": False, "size": 90, "strokeWidth": 2, "opacity": 1},
        "encoding": {
            "y": {"field": "measured", "type": "quantitative"},
            "color": colour,
            "tooltip": tooltip,
        },
    }


def _sentence(
    points: Sequence[Point],
    known: Sequence[DrawnCell],
    left_out: int,
    target: Target,
    size: AxisName,
) -> str:
    ends = sorted((point for point in points if point["curve"] == points[0]["curve"]), key=_at)
    first, last = ends[0], ends[-1]
    subject = "It" if len({point["curve"] for point in points}) == 1 else points[0]["curve"]
    growth = (
        f"{subject} goes from {first['number']} at {axis_words(size, first['size'])} to"
        f" {last['number']} at {axis_words(size, last['size'])}."
    )
    measured = sum(point["measured"] is not None for point in points)
    rings = f" Rings are {noun_count(measured, 'measurement')}." if measured else ""
    outside = sum(one.answer.extrapolates for one in known if isinstance(one.answer, Prediction))
    marks = (
        f" {noun_count(outside, 'point')} of {len(known):,} lie outside of what was measured, where"
        " nothing promises that the band holds."
        if outside
        else ""
    )
    more = f" {noun_count(left_out, 'line')} more are not drawn." if left_out > 0 else ""
    band = f" The band holds 9 of 10 measurements of {target.label}."
    return f"{growth}{band}{rings}{marks}{more}"


def _at(point: Point) -> int:
    return int(point["size"])
