"""Colours of backends: distinguishable under every kind of vision, seen on every ground."""

from itertools import combinations

import numpy as np
import pytest
from colorspacious import cspace_convert, deltaE

from analysis.charts.chart import BACKEND_MARKS, DARK_GROUNDS, LIGHT_GROUNDS
from orchestrator.backends.catalogue import CATALOGUE

VISIONS = (None, "deuteranomaly", "protanomaly", "tritanomaly")
LEAST_DISTANCE, LEAST_CONTRAST = 15.0, 3.0


def rgb(colour: str) -> np.ndarray:
    return np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])


def seen(colour: str, vision: str | None) -> np.ndarray:
    if vision is None:
        return rgb(colour)
    space = {"name": "sRGB1+CVD", "cvd_type": vision, "severity": 100}
    return np.clip(cspace_convert(rgb(colour), space, "sRGB1"), 0, 1)


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = rgb(colour)
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("vision", VISIONS)
def test_any_two_backends_differ(theme: str, vision: str | None) -> None:
    colours = {name: seen(getattr(mark, theme), vision) for name, mark in BACKEND_MARKS.items()}
    distances = {
        pair: float(deltaE(colours[pair[0]], colours[pair[1]], input_space="sRGB1"))
        for pair in combinations(colours, 2)
    }
    assert min(distances.values()) >= LEAST_DISTANCE, min(distances, key=distances.__getitem__)


@pytest.mark.parametrize(
    ("theme", "grounds"), [("light", LIGHT_GROUNDS), ("dark", DARK_GROUNDS)], ids=str
)
def test_every_colour_is_seen_on_its_grounds(theme: str, grounds: tuple[str, ...]) -> None:
    for name, mark in BACKEND_MARKS.items():
        for ground in grounds:
            assert contrast(getattr(mark, theme), ground) >= LEAST_CONTRAST, (name, ground)


def test_every_backend_of_the_catalogue_has_a_colour_and_a_shape_of_its_own() -> None:
    assert set(CATALOGUE) <= set(BACKEND_MARKS)
    shapes = [mark.shape for name, mark in BACKEND_MARKS.items() if name != "fake"]
    assert len(set(shapes)) == len(shapes)
