"""Predictions against what was measured, and the errors of a predictor by what was measured."""

from collections.abc import Iterator, Mapping, Sequence

from analysis.charts.chart import BACKEND_MARKS, Chart, Spec
from analysis.charts.layers import (
    POINT_MARK,
    Point,
    fields,
    linear_axis,
    log_axis,
    row_chart,
    row_names,
)
from analysis.charts.predictions import shown_amount, shown_heading, shown_value
from analysis.charts.words import file_stem, in_order, path_words
from analysis.predict.examples.placements import PREDICTION_TARGETS, Target
from analysis.predict.manifest import KeptAnswer, KeptTrial, PredictorManifest, kept_answer
from analysis.predict.novelty import NAMED_NOVELTIES, Novelty
from analysis.predict.trials import NEAR, NoveltyTrial, PredictionTrial
from analysis.statistics.numbers import percent_text

_MOST_POINTS = 1_000
"""Points of one drawing; of more, every so many-th is drawn."""
_FEW_POINTS, _FEW_SIZE, _MANY_SIZE = 400, 50, 14
"""Areas of points, pixels: of so few, and of more. The few have their intervals drawn."""
_FIGURES = ("questions", "median_ape", "within_tenth", "coverage", "half_width")
_TOOLTIP = fields(
    model=None,
    device=None,
    path=None,
    known="measured",
    number="predicted",
    interval="90 % interval",
    outside="extrapolation",
)


def novelty_chart(tried: NoveltyTrial, target: Target) -> Chart | None:
    """The predictions of a novelty by measured values; None without any."""
    return accuracy_chart(tried.trial, target, NAMED_NOVELTIES[tried.novelty].hidden)


def kept_chart(trial: KeptTrial, target: Target, novelty: Novelty) -> Chart:
    """The same of a trial that is kept beside its predictor, of the answers that it has."""
    figures = {name: getattr(trial, name) for name in _FIGURES}
    return _chart(trial.answers, figures, target, NAMED_NOVELTIES[novelty].hidden)


def accuracy_chart(trial: PredictionTrial, target: Target, title: str) -> Chart | None:
    """Predicted by measured values with the diagonal and bands; `title` says what was hidden."""
    accuracy, intervals = trial.accuracy, trial.intervals
    if accuracy is None or intervals is None:
        return None
    step = -(-len(trial.answered) // _MOST_POINTS)
    drawn = [*map(kept_answer, trial.answered[::step])]
    return _chart(drawn, {**vars(accuracy), **vars(intervals)}, target, title)


def _chart(
    answers: Sequence[KeptAnswer], figures: Mapping[str, float], target: Target, title: str
) -> Chart:
    by_device = _has_several_devices(answers)
    palette = _palette(answers, by_device=by_device)
    points = [_point(one, target, by_device=by_device) for one in answers]
    colour = {
        "field": "colour",
        "type": "nominal",
        "scale": {"domain": [*palette]},
        "title": "device" if by_device else "backend",
    }
    return Chart(
        file_stem("predicted-by-measured", target.name, title),
        f"{target.label.capitalize()}, predicted by measured · {title}",
        _sentence(figures, len(answers)),
        _spec(points, shown_heading(target), colour, figures["half_width"]),
        tuple(palette.values()),
    )


def _has_several_devices(answers: Sequence[KeptAnswer]) -> bool:
    """True if two devices share a backend, so that its colour does not tell them apart."""
    pairs = {(one.backend, one.device) for one in answers}
    return len(pairs) > len({backend for backend, _ in pairs})


def _point(one: KeptAnswer, target: Target, *, by_device: bool) -> Point:
    path = path_words({"backend": one.backend, "runtime": one.runtime})
    return {
        "colour": one.device if by_device else one.backend,
        "measured": shown_value(one.measured, target),
        "value": shown_value(one.predicted, target),
        "low": shown_value(one.low, target),
        "high": shown_value(one.high, target),
        "known": shown_amount(one.measured, target),
        "number": shown_amount(one.predicted, target),
        "interval": f"{shown_amount(one.low, target)} to {shown_amount(one.high, target)}",
        "model": one.model,
        "device": one.device,
        "path": f"{path} {one.precision}",
        "outside": "; ".join(one.outside) or "no",
    }


def _palette(answers: Sequence[KeptAnswer], *, by_device: bool) -> dict[str, str]:
    """The backend whose colour stands for each backend, or for each device.

    The first device of a backend has the backend's own, others have those of absent ones.
    """
    backends = in_order({one.backend for one in answers}, BACKEND_MARKS)
    if not by_device:
        return {name: name for name in backends}
    absent = iter([name for name in BACKEND_MARKS if name not in backends])
    palette: dict[str, str] = {}
    for backend, device in sorted({(one.backend, one.device) for one in answers}):
        if device not in palette:
            is_first = backend not in palette.values()
            palette[device] = backend if is_first else next(absent, backend)
    return palette


def _spec(points: Sequence[Point], heading: str, colour: Spec, half_width: float) -> Spec:
    x = log_axis("measured", f"measured {heading}", points, "measured", "value")
    y = log_axis("value", f"predicted {heading}", points, "measured", "value")
    diagonal = {
        "data": {"values": [{"measured": end, "value": end} for end in x["scale"]["domain"]]},
        "mark": {"type": "line", "strokeWidth": 1, "clip": True},
        "encoding": {"x": x, "y": y},
    }
    layers = [
        _band(x, y, 1 / half_width, half_width, opacity=0.2),
        _band(x, y, 1 - NEAR, 1 + NEAR, opacity=0.25),
        diagonal,
        *_marks(len(points), x, y, colour),
    ]
    return {"data": {"values": points}, "height": 480, "layer": layers}


def _band(x: Spec, y: Spec, low: float, high: float, *, opacity: float) -> Spec:
    """The area between these shares of the diagonal."""
    ends = x["scale"]["domain"]
    line = [{"measured": end, "low": end * low, "high": end * high} for end in ends]
    return {
        "data": {"values": line},
        "mark": {"type": "area", "opacity": opacity, "clip": True},
        "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
    }


def _marks(count: int, x: Spec, y: Spec, colour: Spec) -> Iterator[Spec]:
    """The points; before few of them their intervals."""
    few = count <= _FEW_POINTS
    if few:
        ends = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
        yield {
            "mark": {"type": "rule", "strokeWidth": 1, "opacity": 0.35, "clip": True},
            "encoding": {"x": x, **ends, "color": colour},
        }
    yield {
        "mark": {**POINT_MARK, "size": _FEW_SIZE if few else _MANY_SIZE, "opacity": 0.6},
        "encoding": {"x": x, "y": y, "color": colour, "shape": colour, "tooltip": _TOOLTIP},
    }


def _sentence(figures: Mapping[str, float], drawn: int) -> str:
    count = figures["questions"]
    more = f" {drawn:,} of them are drawn." if drawn < count else ""
    median, near, coverage = (
        100.0 * figures[name] for name in ("median_ape", "within_tenth", "coverage")
    )
    return (
        f"Half of {count:,} predictions of hidden results are off by {median:.1f} % at most,"
        f" {near:.0f} % by at most {100 * NEAR:.0f} %, which is the darker band; the lighter"
        f" one is the typical 90 % interval, ×{figures['half_width']:.2f} on either side, and such"
        f" intervals hold {coverage:.0f} %.{more}"
    )


def errors_chart(manifest: PredictorManifest, novelty_words: Mapping[str, str]) -> Chart | None:
    """The median error of each target and novelty, in the order of the words; None without any."""
    points: list[Point] = [
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
    least, most = (end(points, key=lambda point: float(point["error"])) for end in (min, max))
    layers: list[Spec] = [
        {
            "mark": {"type": "rule", "strokeWidth": 2, "yOffset": 7},
            "encoding": {"x2": {"field": "none"}},
        },
        {
            "mark": {**POINT_MARK, "yOffset": 7},
            "encoding": {"tooltip": fields(row=None, words=None, examples=None, groups=None)},
        },
        row_names(dy=-7),
        {
            "mark": {"type": "text", "align": "left", "dx": 8, "dy": 7, "fontSize": 11},
            "encoding": {"text": {"field": "words"}},
        },
    ]
    return Chart(
        file_stem("predictor", manifest.database, "errors"),
        "Errors of predictions, by what of a question was measured",
        f"Half of the hidden results were predicted at least as well as this: from"
        f" {least['words']} ({least['row']}) to {most['words']} ({most['row']}).",
        row_chart(points, linear_axis("error", "median error, %"), layers),
    )
