"""Ratings and families drawn: a mark for each level, a word for what was not timed."""

from typing import Any

import pytest

from analysis.charts.chart import PAPER, Chart
from analysis.charts.compatibility import families_chart, ratings_chart
from analysis.compatibility.families import FamilySummary, MeanRatio
from analysis.compatibility.ratings import Obstacle, Rating

SPEEDUP = MeanRatio(2.5, 1.25, 5.0, cells=4, sure=3)


def a_rating(backend: str, level: Any, share: float | None, **more: Any) -> Rating:
    facts: dict[str, Any] = {
        "family": "embedding",
        "mode": "inference",
        "share_low": share,
        "share_high": share,
        "cells": 2,
        "compared": 2,
        "doubtful": 0,
        "fastest": None,
        "obstacle": None,
        "source": None,
    }
    model = more.pop("model", "bert-tiny")
    return Rating(model=model, backend=backend, level=level, share=share, **facts | more)


def a_family(name: str, backend: str | None, speedup: MeanRatio | None) -> FamilySummary:
    return FamilySummary(name, 1, backend, "cpu", speedup, None, None, None, ())


def points_of(chart: Chart | None) -> dict[str, dict[str, Any]]:
    assert chart is not None
    assert chart.drawn(PAPER)["data"] == chart.spec["data"]
    return {point["backend"]: point for point in chart.spec["data"]["values"]}


@pytest.mark.parametrize(
    ("rating", "words", "is_marked"),
    [
        (a_rating("cpu", "High", 0.75), "High 75%", True),
        (a_rating("cpu", "High", None), "High", True),
        (a_rating("openvino", "Low", 0.02, source="others"), "Low 2%*", True),
        (a_rating("qnn", "verified only", None), "verified only", False),
        (a_rating("cuda", "N/A", None, obstacle=Obstacle("failed", "why", "help")), "N/A", False),
    ],
)
def test_a_level_is_a_mark_with_its_share_and_a_word_where_nothing_was_timed(
    rating: Rating, words: str, *, is_marked: bool
) -> None:
    (point,) = points_of(ratings_chart([rating])).values()
    assert (point["words"], point["area"] > 0) == (words, is_marked)
    obstacle = rating.obstacle
    assert point["reason"] == (obstacle.reason if obstacle else "none")


def test_families_have_their_mean_and_range_and_those_without_are_counted() -> None:
    known, unknown = a_family("vision", "openvino", SPEEDUP), a_family("audio", None, None)
    chart = families_chart([known, unknown])
    point = points_of(chart)["openvino"]
    assert (point["value"], point["low"], point["high"]) == (2.5, 1.25, 5.0)
    assert chart is not None
    assert "1 of 2 families" in chart.sentence
    assert families_chart([unknown]) is None
