"""Errors of a predictor drawn: by target, and by what of a question was measured."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.charts.chart import Chart
from analysis.charts.layers import Point, linear_axis, named_rows, row_names
from analysis.charts.words import file_stem
from analysis.predict.examples.targets import PREDICTION_TARGETS
from analysis.predict.manifest import PredictorManifest
from analysis.statistics.numbers import percent_text

_STEP = 34


def errors_chart(manifest: PredictorManifest, novelty_words: Mapping[str, str]) -> Chart | None:
    """The median error of each target and novelty; None where none is known.

    Args:
        manifest: that of the predictor.
        novelty_words: the words for a novelty, in the order of rows.
    """
    points = [
        {
            "row": f"{PREDICTION_TARGETS[name].label} · {words}",
            "error": 100 * errors.median_error,
            "none": 0,
            "words": f"{percent_text(errors.median_error)} %",
            "examples": errors.examples,
            "groups": errors.groups,
        }
        for name, facts in manifest.targets.items()
        for novelty, words in novelty_words.items()
        if (errors := facts.errors.get(novelty))
    ]
    if not points:
        return None
    least, most = (extreme(points, key=_error) for extreme in (min, max))
    return Chart(
        file_stem("predictor", manifest.database, "errors"),
        "Errors of predictions, by what of a question was measured",
        f"Half of the hidden results were predicted at least as well as this: from"
        f" {least['words']} ({least['row']}) to {most['words']} ({most['row']}).",
        _spec(points),
    )


def _error(point: Point) -> float:
    return float(point["error"])


def _spec(points: Sequence[Point]) -> dict[str, Any]:
    rows = named_rows([point["row"] for point in points], _STEP)
    shown = [{"field": name} for name in ("row", "words", "examples", "groups")]
    return {
        "data": {"values": points},
        "height": rows["height"],
        "encoding": {**rows["encoding"], "x": linear_axis("error", "median error, %")},
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 2, "yOffset": 7},
                "encoding": {"x2": {"field": "none"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1, "yOffset": 7},
                "encoding": {"tooltip": shown},
            },
            row_names(dy=-7),
            {
                "mark": {"type": "text", "align": "left", "dx": 8, "dy": 7, "fontSize": 11},
                "encoding": {"text": {"field": "words"}},
            },
        ],
    }
