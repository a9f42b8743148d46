"""Compatibility drawn: how well each model works on each backend, the best backend by family."""

from collections.abc import Mapping, Sequence

from analysis.charts.chart import BACKEND_MARKS, Chart, Spec
from analysis.charts.layers import (
    Point,
    backend_colour,
    backends_of,
    error_bars,
    fields,
    log_axis,
    point_layers,
    row_chart,
    row_names,
    span_words,
)
from analysis.charts.words import noun_count
from analysis.compatibility.families import REFERENCE, FamilySummary, doubt_lines
from analysis.compatibility.ratings import HIGH_SHARE, MEDIUM_SHARE, Rating
from analysis.statistics.numbers import amount

_MOST_ROWS = 60
_STEP = 46
"""Height of a row with its words below the mark, pixels."""
_AREAS: Mapping[str, int] = {"High": 420, "Medium": 180, "Low": 60}
"""Areas of marks, square pixels; what was not timed has its word alone."""


def ratings_chart(ratings: Sequence[Rating]) -> Chart | None:
    """The levels of models by mode on backends; None without a rating.

    Backends that only imported files name have no colour and are counted in the sentence.
    """
    drawn = [one for one in ratings if one.backend in BACKEND_MARKS]
    rows = list(dict.fromkeys(_row(one) for one in drawn))
    shown = rows[:_MOST_ROWS]
    points = [_point(one) for one in drawn if _row(one) in shown]
    if not points:
        return None
    missing = {"row": len(rows) - len(shown), "rating": len(ratings) - len(drawn)}
    others = {"row": "", "rating": " on other hardware"}
    parts = [noun_count(n, noun) + others[noun] for noun, n in missing.items() if n]
    return Chart(
        "compatibility",
        "How well models work on backends",
        _sentence(points) + (f" Not drawn: {' and '.join(parts)}." if parts else ""),
        _spec(points, shown),
        backends_of(points),
    )


def _row(rating: Rating) -> str:
    return f"{rating.model} · {rating.mode}"


def _point(rating: Rating) -> Point:
    share = "" if rating.share is None else f" {rating.share:.0%}"
    return {
        "row": _row(rating),
        "backend": rating.backend,
        "level": rating.level,
        "words": f"{rating.level}{share}{'*' if rating.source else ''}",
        "area": _AREAS.get(rating.level, 0),
        "cells": rating.cells,
        "reason": (rating.obstacle and rating.obstacle.reason) or "none",
        "remedy": (rating.obstacle and rating.obstacle.remedy) or "none",
        "origin": rating.source or "measured here",
    }


def _spec(points: Sequence[Point], rows: Sequence[str]) -> Spec:
    backends = backends_of(points)
    colour = backend_colour(backends, legend=False)
    across = {"orient": "top", "title": None, "labelAngle": 0, "domain": False}
    down = {"title": None, "ticks": False, "grid": True}
    marks = {
        "transform": [{"filter": "datum.area > 0"}],
        "mark": {"type": "point", "filled": True, "opacity": 1, "yOffset": -6},
        "encoding": {
            "color": colour,
            "shape": colour,
            "size": {"field": "area", "type": "quantitative", "scale": None},
            "tooltip": fields(words=None, cells=None, reason=None, remedy=None, origin=None),
        },
    }
    names = {
        "mark": {"type": "text", "dy": 14, "fontSize": 11},
        "encoding": {"text": {"field": "words"}},
    }
    return {
        "data": {"values": points},
        "height": _STEP * len(rows),
        "encoding": {
            "x": {"field": "backend", "type": "nominal", "sort": backends, "axis": across},
            "y": {"field": "row", "type": "nominal", "sort": rows, "axis": down},
        },
        "layer": [marks, names],
    }


def _sentence(points: Sequence[Point]) -> str:
    counts = (
        f"{backend}: High {sum(one['level'] == 'High' for one in timed)} of {len(timed)}"
        for backend in backends_of(points)
        if (timed := [one for one in points if one["backend"] == backend and one["area"]])
    )
    origin = " * measured by others." if any("*" in one["words"] for one in points) else ""
    return (
        f"{', '.join(counts)} that were timed. The number is the median share of the best backend's"
        f" throughput for the same cell: High from {HIGH_SHARE:.0%} on, Medium from"
        f" {MEDIUM_SHARE:.0%} on.{origin}"
    )


def families_chart(families: Sequence[FamilySummary]) -> Chart | None:
    """The speed-up of each family's best backend; None if none was compared with the CPU."""
    points = [point for family in families if (point := _speedup_point(family)) is not None]
    if not points:
        return None
    points.sort(key=lambda point: -float(point["value"]))
    times = f"times as fast as {REFERENCE}"
    shown = fields(number=times, span="least to most", n="cells", shown=None)
    return Chart(
        "families",
        "Best backend of each family of models",
        _speedup_sentence(points, families),
        row_chart(
            points,
            log_axis("value", f"{times}: mean, and least to most", points),
            [row_names(), *error_bars(points, "x"), *point_layers(points, shown)],
        ),
        backends_of(points),
    )


def _speedup_point(family: FamilySummary) -> Point | None:
    speedup = family.speedup
    if speedup is None or family.backend is None:
        return None
    return {
        "row": f"{family.family}: {family.backend} ({speedup.cells})",
        "backend": family.backend,
        "value": speedup.value,
        "low": speedup.low,
        "high": speedup.high,
        "number": amount(speedup.value),
        "span": span_words(speedup.low, speedup.high),
        "n": speedup.cells,
        "shown": f"in {speedup.sure} of {speedup.cells} cells; {speedup.undecided} undecided",
        "imported": bool(family.sources),
    }


def _speedup_sentence(points: Sequence[Point], families: Sequence[FamilySummary]) -> str:
    first = points[0]
    return (
        f"The greatest mean speed-up is {first['number']}, of {first['row'].partition(' (')[0]};"
        f" {len(points)} of {len(families)} families differ from the {REFERENCE.upper()} in most"
        " cells. Bars go from the least to the most of different cells, whose number stands in"
        " brackets, and are no intervals."
        f"{''.join(f' {line}.' for line in doubt_lines(families))}"
    )
