"""Ratings drawn: how well each model works on each backend, a mark for each pair."""

from collections.abc import Mapping, Sequence

from analysis.charts.chart import Chart
from analysis.charts.layers import Point, backend_colour, backends_of
from analysis.charts.palette import BACKEND_MARKS
from analysis.charts.words import noun_count
from analysis.compatibility.ratings import HIGH_SHARE, MEDIUM_SHARE, Rating

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
    shown = frozenset(rows[:_MOST_ROWS])
    points = [_point(one) for one in drawn if _row(one) in shown]
    if not points:
        return None
    return Chart(
        "compatibility",
        "How well models work on backends",
        f"{_sentence(points)}{_left_out(len(rows) - len(shown), len(ratings) - len(drawn))}",
        _spec(points, rows[:_MOST_ROWS]),
        backends_of(points),
    )


def _left_out(rows: int, foreign: int) -> str:
    parts = [noun_count(rows, "row")] if rows else []
    parts += [noun_count(foreign, "rating") + " on other hardware"] if foreign else []
    return f" Not drawn: {' and '.join(parts)}." if parts else ""


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


def _spec(points: Sequence[Point], rows: Sequence[str]) -> dict[str, object]:
    backends = backends_of(points)
    fields = ("words", "cells", "reason", "remedy", "origin")
    return {
        "data": {"values": points},
        "height": _STEP * len(rows),
        "encoding": {
            "x": {
                "field": "backend",
                "type": "nominal",
                "sort": backends,
                "axis": {"orient": "top", "title": None, "labelAngle": 0, "domain": False},
            },
            "y": {
                "field": "row",
                "type": "nominal",
                "sort": rows,
                "axis": {"title": None, "ticks": False, "grid": True},
            },
        },
        "layer": [
            {
                "transform": [{"filter": "datum.area > 0"}],
                "mark": {"type": "point", "filled": True, "opacity": 1, "yOffset": -6},
                "encoding": {
                    "color": {**backend_colour(backends), "legend": None},
                    "shape": {**backend_colour(backends), "legend": None},
                    "size": {"field": "area", "type": "quantitative", "scale": None},
                    "tooltip": [{"field": name} for name in fields],
                },
            },
            {
                "mark": {"type": "text", "dy": 14, "fontSize": 11},
                "encoding": {"text": {"field": "words"}},
            },
        ],
    }


def _sentence(points: Sequence[Point]) -> str:
    counts = (
        f"{backend}: High {sum(one['level'] == 'High' for one in timed)} of {len(timed)}"
        for backend in backends_of(points)
        for timed in ([one for one in points if one["backend"] == backend and one["area"]],)
        if timed
    )
    origin = " * measured by others." if any("*" in one["words"] for one in points) else ""
    return (
        f"{', '.join(counts)} that were timed. The number is the median share of the best backend's"
        f" throughput for the same cell: High from {HIGH_SHARE:.0%} on, Medium from"
        f" {MEDIUM_SHARE:.0%} on.{origin}"
    )
