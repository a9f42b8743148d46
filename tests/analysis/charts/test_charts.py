"""Charts: their values are those of SQL, they compile, each backend has its colour."""

import json
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from colorspacious import cspace_convert, deltaE

from analysis.charts.chart import BACKEND_MARKS, DARK_GROUNDS, LIGHT_GROUNDS, PAPER, Chart
from analysis.charts.comparisons import property_comparison
from analysis.charts.compatibility import families_chart, ratings_chart
from analysis.charts.curves import size_curves
from analysis.charts.durations import MOST_MARKS, duration_charts
from analysis.charts.stacks import training_steps
from analysis.compatibility.families import FamilySummary, MeanRatio
from analysis.compatibility.ratings import Obstacle, Rating
from analysis.report.topics import charts_of
from analysis.results.selection import Selection
from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.store.store import Store
from runner.contract.record.record import Record
from tests.support.databases import write_records
from tests.support.records import a_record

EVERYTHING = Selection()
MS = 1_000_000
PATHS = (("cpu", "torch", 8.0), ("cpu", "onnxruntime", 4.0), ("openvino", "openvino", 2.0))
"""Backend, runtime, and milliseconds of a query with batch 1."""
LONG_RUN = 5_000
"""Durations of the result that has more than a drawing holds."""


def timed(backend: str, runtime: str, batch: int, ms: float) -> Record:
    durations = [round(ms * MS * (1 + 0.01 * (step % 7))) for step in range(20)]
    return a_record(
        backend=backend, runtime=runtime, batch_size=batch, durations_ns=durations, grade="A"
    )


def trained() -> Record:
    return a_record(
        mode="training",
        batch_size=1,
        durations_ns=[30 * MS] * 20,
        forward_median_s=0.010,
        loss_median_s=0.001,
        backward_median_s=0.012,
        optimizer_median_s=0.006,
        training_precision=None,
    )


def long_run() -> Record:
    durations = [(90 if step == 4_321 else 5) * MS + step for step in range(LONG_RUN)]
    return a_record(batch_size=16, durations_ns=durations, steady_change=0.5)


@pytest.fixture(scope="session")
def charted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Curves of three runtimes, a training step, a long run, open for reading."""
    folder = tmp_path_factory.mktemp("charted")
    records = [
        timed(backend, runtime, batch, ms * batch**0.5)
        for backend, runtime, ms in PATHS
        for batch in (1, 2, 4)
    ]
    database = write_records(folder, [*records, trained(), long_run()])
    with Store.open_readonly(database) as store:
        yield store


def rows_of(spec: Any) -> list[dict[str, Any]]:
    """All rows of data in a description."""
    if isinstance(spec, dict):
        own = spec.get("data", {}).get("values", []) if isinstance(spec.get("data"), dict) else []
        return [*own, *(row for value in spec.values() for row in rows_of(value))]
    return [row for value in spec for row in rows_of(value)] if isinstance(spec, list) else []


def test_a_curve_has_the_values_and_intervals_that_sql_gives(charted: Store) -> None:
    (chart,) = size_curves(charted, EVERYTHING, ("latency",))
    drawn = {
        (r["backend"], r["runtime"], r["size"], r["value"], r["low"]) for r in rows_of(chart.spec)
    }
    sql = """
        SELECT backend, runtime, batch_size, latency_median_ms, latency_median_low_ms
        FROM latest_results WHERE mode = 'inference'
    """
    assert drawn == {tuple(row.values()) for row in charted.arrow(sql).to_pylist()}
    assert "At batch 16 the lowest median latency is" in chart.sentence
    assert chart.backends == ("cpu", "openvino")


def test_a_comparison_has_the_ratios_that_sql_gives(charted: Store) -> None:
    (chart,) = property_comparison(charted, EVERYTHING, "backend")
    drawn = {r["cell"]: r["speedup"] for r in rows_of(chart.spec)}
    sql = """
        SELECT o.cell_id, min(c.latency_median_ms) / any_value(o.latency_median_ms) AS speedup
        FROM latest_results o JOIN latest_results c USING (model, precision, batch_size, mode)
        WHERE o.backend = 'openvino' AND c.backend = 'cpu' GROUP BY o.cell_id
    """
    expected = {row["cell_id"]: row["speedup"] for row in charted.arrow(sql).to_pylist()}
    assert drawn == pytest.approx(expected)
    assert len(drawn) == 3


def test_a_training_step_stands_beside_the_inference_of_its_sizes(charted: Store) -> None:
    (chart,) = training_steps(charted, EVERYTHING)
    parts = {r["part"]: r["value"] for r in rows_of(chart.spec) if "part" in r}
    assert parts == pytest.approx(
        {"forward": 10, "loss": 1, "backward": 12, "optimizer": 6, "inference": parts["inference"]}
    )
    assert "A step takes 3.6" in chart.sentence


def test_long_courses_keep_their_extremes_and_say_that_they_are_thinned(charted: Store) -> None:
    course, distribution = duration_charts(charted, EVERYTHING, limit=1)
    values = [row["value"] for row in rows_of(course.spec)]
    assert len(values) <= MOST_MARKS + 2
    assert max(values) == pytest.approx(90 + 4_321e-6)
    assert f"Of {LONG_RUN + 2:,} durations the shortest and the longest of every" in course.sentence
    assert sum(bar["durations"] for bar in rows_of(distribution.spec)) == 4_950
    assert "Beyond the right end: 50 durations" in distribution.sentence


@pytest.fixture(scope="module")
def charts(charted: Store) -> tuple[Chart, ...]:
    """All that a report on a run draws."""
    return charts_of("run", charted, EVERYTHING)


@pytest.mark.slow
def test_every_chart_has_a_name_a_finding_and_the_colours_of_its_backends(
    charts: tuple[Chart, ...],
) -> None:
    names = [chart.name for chart in charts]
    assert len(set(names)) == len(names)
    assert {name.partition("-")[0] for name in names} >= {
        "latency",
        "compare",
        "training",
        "course",
    }
    for chart in charts:
        assert chart.sentence.endswith(".")
        colours = chart.drawn(PAPER)["config"]["range"]["category"]
        assert colours == [BACKEND_MARKS[name].light for name in chart.backends]
        assert {row["backend"] for row in rows_of(chart.spec) if "backend" in row} <= {
            *chart.backends
        }
        json.dumps(chart.spec)
        assert encodes_every_colour_by_backend(chart)


def encodes_every_colour_by_backend(chart: Chart) -> bool:
    text = json.dumps(chart.spec)
    return all(
        f'"{channel}": {{"field": "{other}"' not in text
        for channel in ("color", "fill", "stroke")
        for other in ("runtime", "precision", "part")
    )


@pytest.mark.slow
def test_descriptions_compile_without_a_warning(charts: tuple[Chart, ...]) -> None:
    import vl_convert

    for chart in charts:
        svg = vl_convert.vegalite_to_svg(chart.drawn(PAPER), allowed_base_urls=[])
        assert "NaN" not in svg


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
