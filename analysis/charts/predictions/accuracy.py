"""Predictions against what was measured: the nearer to the diagonal, the better."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.charts.chart import Chart, Spec
from analysis.charts.layers import log_axis
from analysis.charts.palette import BACKEND_MARKS
from analysis.charts.predictions.units import shown_amount, shown_heading, shown_value
from analysis.charts.words import file_stem, in_order, path_words
from analysis.predict.examples.placements import Target
from analysis.predict.manifest import KeptAnswer, KeptTrial, kept_answer
from analysis.predict.novelty import NAMED_NOVELTIES, Novelty
from analysis.predict.trials import NEAR, NoveltyTrial, PredictionTrial

_MOST_POINTS = 1_000
"""Points of one drawing; of more, every so many-th is drawn."""
_FEW_POINTS, _FEW_SIZE, _MANY_SIZE = 400, 50, 14
"""Areas of points, pixels: of so few, and of more. The few have their intervals drawn."""
_PERCENT = 100.0


def novelty_chart(tried: NoveltyTrial, target: Target) -> Chart | None:
    """The predictions of a novelty by measured values; None without any."""
    return accuracy_chart(tried.trial, target, NAMED_NOVELTIES[tried.novelty].hidden)


def kept_chart(trial: KeptTrial, target: Target, novelty: Novelty) -> Chart:
    """The same of a trial that is kept beside its predictor, of the answers that it has."""
    figures = {name: getattr(trial, name) for name in _FIGURES}
    return _chart(trial.answers, figures, target, NAMED_NOVELTIES[novelty].hidden)


def accuracy_chart(trial: PredictionTrial, target: Target, title: str) -> Chart | None:
    """Predicted by measured values with the diagonal and bands around it; None without any.

    Args:
        trial: hidden examples with their predictions.
        target: what was predicted.
        title: what was hidden.
    """
    accuracy, intervals = trial.accuracy, trial.intervals
    if accuracy is None or intervals is None:
        return None
    step = -(-len(trial.answered) // _MOST_POINTS)
    drawn = [*map(kept_answer, trial.answered[::step])]
    figures = {**vars(accuracy), **vars(intervals)}
    return _chart(drawn, figures, target, title)


_FIGURES = ("questions", "median_ape", "within_tenth", "coverage", "half_width")


def _chart(
    answers: Sequence[KeptAnswer], figures: Mapping[str, float], target: Target, title: str
) -> Chart:
    by_device = _has_several_devices(answers)
    palette = _palette(answers, by_device=by_device)
    points = [_point(one, target, by_device=by_device) for one in answers]
    half_width = figures["half_width"]
    return Chart(
        file_stem("predicted-by-measured", target.name, title),
        f"{target.label.capitalize()}, predicted by measured · {title}",
        _sentence(figures, answers),
        _spec(points, target, list(palette), half_width, by_device=by_device),
        tuple(palette.values()),
    )


def _has_several_devices(answers: Sequence[KeptAnswer]) -> bool:
    """True if two devices share a backend, so that its colour does not tell them apart."""
    pairs = {(one.backend, one.device) for one in answers}
    return len(pairs) > len({backend for backend, _ in pairs})


def _point(one: KeptAnswer, target: Target, *, by_device: bool) -> dict[str, Any]:
    ends = (shown_amount(end, target) for end in (one.low, one.high))
    path = {"backend": one.backend, "runtime": one.runtime}
    return {
        "colour": one.device if by_device else one.backend,
        "measured": shown_value(one.measured, target),
        "value": shown_value(one.predicted, target),
        "low": shown_value(one.low, target),
        "high": shown_value(one.high, target),
        "known": shown_amount(one.measured, target),
        "number": shown_amount(one.predicted, target),
        "interval": " to ".join(ends),
        "model": one.model,
        "device": one.device,
        "path": f"{path_words(path)} {one.precision}",
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


def _spec(
    points: Sequence[dict[str, Any]],
    target: Target,
    names: Sequence[str],
    half_width: float,
    *,
    by_device: bool,
) -> Spec:
    heading = shown_heading(target)
    x = log_axis("measured", f"measured {heading}", points, "measured", "value")
    y = log_axis("value", f"predicted {heading}", points, "measured", "value")
    ends = x["scale"]["domain"]
    colour = {
        "field": "colour",
        "type": "nominal",
        "scale": {"domain": [*names]},
        "title": "device" if by_device else "backend",
    }
    diagonal = {
        "data": {"values": [{"measured": end, "value": end} for end in ends]},
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
        yield {
            "mark": {"type": "rule", "strokeWidth": 1, "opacity": 0.35, "clip": True},
            "encoding": {
                "x": x,
                "y": {**y, "field": "low"},
                "y2": {"field": "high"},
                "color": colour,
            },
        }
    size = _FEW_SIZE if few else _MANY_SIZE
    yield {
        "mark": {"type": "point", "filled": True, "size": size, "opacity": 0.6},
        "encoding": {"x": x, "y": y, "color": colour, "shape": colour, "tooltip": _TOOLTIP},
    }


def _sentence(figures: Mapping[str, float], answers: Sequence[KeptAnswer]) -> str:
    count, drawn = figures["questions"], len(answers)
    more = f" {drawn:,} of them are drawn." if drawn < count else ""
    median, near = _PERCENT * figures["median_ape"], _PERCENT * figures["within_tenth"]
    return (
        f"Half of {count:,} predictions of hidden results are off by {median:.1f} % at most,"
        f" {near:.0f} % by at most {_PERCENT * NEAR:.0f} %, which is the darker band; the lighter"
        f" one is the typical 90 % interval, ×{figures['half_width']:.2f} on either side, and such"
        f" intervals hold {_PERCENT * figures['coverage']:.0f} %.{more}"
    )


_TOOLTIP = [
    *({"field": name} for name in ("model", "device", "path")),
    {"field": "known", "title": "measured"},
    {"field": "number", "title": "predicted"},
    {"field": "interval", "title": "90 % interval"},
    {"field": "outside", "title": "extrapolation"},
]
