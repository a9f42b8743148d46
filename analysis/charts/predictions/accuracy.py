"""Predictions against what was measured: the nearer to the diagonal, the better."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.charts.chart import Chart, Spec
from analysis.charts.layers import log_axis
from analysis.charts.palette import BACKEND_MARKS
from analysis.charts.words import amount, file_stem, in_order, path_words
from analysis.prediction.evaluation.accuracy import NEAR
from analysis.prediction.evaluation.trials import (
    AnsweredQuestion,
    NoveltyTrial,
    PredictionTrial,
)
from analysis.prediction.examples.targets import Target
from analysis.prediction.novelty_words import NAMED_NOVELTIES

_MOST_POINTS = 2_000
"""Points of one drawing; of more, every so many-th is drawn."""
_FEW_POINTS, _FEW_SIZE, _MANY_SIZE = 200, 70, 14
"""Areas of points, pixels: of so few, and of more."""
_CUSTOMARY: Mapping[str, tuple[float, str]] = {"s": (1e3, "ms"), "bytes": (1e-6, "MB")}
"""By base unit: the factor to the customary unit, and its name."""


def novelty_chart(tried: NoveltyTrial, target: Target) -> Chart | None:
    """The predictions of a novelty by measured values; None without any."""
    return accuracy_chart(tried.trial, target, NAMED_NOVELTIES[tried.novelty].hidden)


def accuracy_chart(trial: PredictionTrial, target: Target, title: str) -> Chart | None:
    """Predicted by measured values with the diagonal and the band of ±10 %; None without any.

    Args:
        trial: hidden examples with their predictions.
        target: what was predicted.
        title: what was hidden.
    """
    if not trial.answered:
        return None
    step = -(-len(trial.answered) // _MOST_POINTS)
    drawn = trial.answered[::step]
    unit = _CUSTOMARY.get(target.unit, (1.0, target.unit))
    by_device = _has_several_devices(drawn)
    points = [_point(one, unit, by_device=by_device) for one in drawn]
    palette = _palette(drawn, by_device=by_device)
    return Chart(
        file_stem("predicted-by-measured", target.name, title),
        f"{target.label.capitalize()}, predicted by measured · {title}",
        _sentence(trial, len(drawn)),
        _spec(points, f"{target.label}, {unit[1]}", list(palette), by_device=by_device),
        tuple(palette.values()),
    )


def _has_several_devices(answered: Sequence[AnsweredQuestion]) -> bool:
    """True if two devices share a backend, so that its colour does not tell them apart."""
    placements = [one.example.placement for one in answered]
    pairs = {(placement.backend, placement.device.name) for placement in placements}
    return len(pairs) > len({backend for backend, _ in pairs})


def _point(one: AnsweredQuestion, unit: tuple[float, str], *, by_device: bool) -> dict[str, Any]:
    placement, prediction = one.example.placement, one.prediction
    factor, name = unit
    ends = (amount(prediction.low * factor, ""), amount(prediction.high * factor, name))
    path = {"backend": placement.backend, "runtime": placement.runtime}
    return {
        "colour": placement.device.name if by_device else placement.backend,
        "measured": one.example.value * factor,
        "value": prediction.value * factor,
        "known": amount(one.example.value * factor, name),
        "number": amount(prediction.value * factor, name),
        "interval": " to ".join(ends),
        "model": placement.model,
        "device": placement.device.name,
        "path": f"{path_words(path)} {placement.precision}",
    }


def _palette(answered: Sequence[AnsweredQuestion], *, by_device: bool) -> dict[str, str]:
    """The backend whose colour stands for each backend, or for each device.

    The first device of a backend has the backend's own, others have those of absent ones.
    """
    placements = [one.example.placement for one in answered]
    backends = in_order({placement.backend for placement in placements}, BACKEND_MARKS)
    if not by_device:
        return {name: name for name in backends}
    absent = iter([name for name in BACKEND_MARKS if name not in backends])
    devices = sorted({(placement.backend, placement.device.name) for placement in placements})
    palette: dict[str, str] = {}
    for backend, device in devices:
        if device not in palette:
            is_first = backend not in palette.values()
            palette[device] = backend if is_first else next(absent, backend)
    return palette


def _spec(
    points: Sequence[dict[str, Any]], axis: str, names: Sequence[str], *, by_device: bool
) -> Spec:
    x = log_axis("measured", f"measured {axis}", points, "measured", "value")
    y = log_axis("value", f"predicted {axis}", points, "measured", "value")
    ends = x["scale"]["domain"]
    line = [
        {"measured": end, "value": end, "low": end * (1 - NEAR), "high": end * (1 + NEAR)}
        for end in ends
    ]
    colour = {
        "field": "colour",
        "type": "nominal",
        "scale": {"domain": [*names]},
        "title": "device" if by_device else "backend",
    }
    band = {
        "data": {"values": line},
        "mark": {"type": "area", "opacity": 0.15, "clip": True},
        "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
    }
    diagonal = {
        "data": {"values": line},
        "mark": {"type": "line", "strokeWidth": 1, "clip": True},
        "encoding": {"x": x, "y": y},
    }
    size = _FEW_SIZE if len(points) <= _FEW_POINTS else _MANY_SIZE
    marks = {
        "mark": {"type": "point", "filled": True, "size": size, "opacity": 0.6},
        "encoding": {"x": x, "y": y, "color": colour, "shape": colour, "tooltip": _TOOLTIP},
    }
    return {"data": {"values": points}, "height": 480, "layer": [band, diagonal, marks]}


def _sentence(trial: PredictionTrial, drawn: int) -> str:
    accuracy, intervals = trial.accuracy, trial.intervals
    if accuracy is None or intervals is None:
        return "Nothing was predicted."
    count = len(trial.answered)
    more = f" {drawn:,} of them are drawn." if drawn < count else ""
    median, near = 100 * accuracy.median_ape, 100 * accuracy.within_tenth
    return (
        f"Half of {count:,} predictions of hidden results are off by {median:.1f} % at most,"
        f" {near:.0f} % by at most {100 * NEAR:.0f} %, which is the band; the 90 % intervals hold"
        f" {100 * intervals.coverage:.0f} %.{more}"
    )


_TOOLTIP = [
    *({"field": name} for name in ("model", "device", "path")),
    {"field": "known", "title": "measured"},
    {"field": "number", "title": "predicted"},
    {"field": "interval", "title": "90 % interval"},
]
