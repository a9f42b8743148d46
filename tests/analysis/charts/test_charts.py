"""Charts: their values are those of SQL, they compile, each backend has its colour."""

import json
from typing import Any

import pytest

from analysis.charts.chart import BACKEND_MARKS, PAPER, Chart
from analysis.charts.comparisons import property_comparison
from analysis.charts.curves import size_curves
from analysis.charts.durations import MOST_MARKS, duration_charts
from analysis.charts.stacks import training_steps
from analysis.charts.topics import charts_of
from analysis.results.selection import Selection
from orchestrator.store.store import Store
from tests.analysis.charts.conftest import LONG_RUN

EVERYTHING = Selection()


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
    bars = rows_of(distribution.spec)
    assert sum(bar["durations"] for bar in bars) == 4_950
    assert "Beyond the right end: 50 durations" in distribution.sentence


@pytest.mark.slow
def test_every_chart_has_a_name_a_finding_and_the_colours_of_its_backends(charted: Store) -> None:
    charts = charts_of("run", charted, EVERYTHING)
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
def test_descriptions_compile_without_a_warning(charted: Store) -> None:
    import vl_convert

    for chart in charts_of("run", charted, EVERYTHING):
        svg = vl_convert.vegalite_to_svg(chart.drawn(PAPER), allowed_base_urls=[])
        assert "NaN" not in svg
