"""Stacked bars: the parts of a time, one bar a row, with the whole beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from analysis.charts.chart import Chart, Spec
from analysis.charts.layers import (
    Point,
    backend_colour,
    backends_of,
    fields,
    linear_axis,
    named_rows,
    row_names,
)
from analysis.charts.questions import MOST_CHARTS, grouped
from analysis.charts.words import (
    distinct_rows,
    file_stem,
    in_order,
    noun_count,
    path_words,
    size_words,
)
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource
from analysis.results.table import RowFacts
from analysis.statistics.numbers import amount

STEP_PARTS = ("forward", "loss", "backward", "optimizer")
"""The parts of a training step, in their order."""
_SAME = (
    *("model", "backend", "runtime", "precision", "batch_size", "sequence_length", "image_size"),
    *("audio_seconds", "host", "launcher", "threads"),
)
"""The columns in which a step and the inference beside it agree."""
START_STAGES = ("interpreter", "import", "instantiate", "weights", "first_query")
"""The stages of a start, in their order."""
_MOST_BARS = 12
"""Steps or starts of one drawing; others are counted."""
_OPACITIES = (1.0, 0.7, 0.45, 0.22, 0.06)
"""Fillings of the parts, in their order; all have an edge in the backend's full colour."""


@dataclass(frozen=True)
class _Bar:
    words: str
    backend: str
    cell: str
    parts: Mapping[str, float]
    """Medians by name, in their order."""
    host: str | None
    """The name of the machine, which tells bars of the same words apart."""
    whole: float
    """The median of the whole, to which medians of parts need not add up."""


def training_steps(
    source: ArrowSource, selection: Selection, limit: int = MOST_CHARTS
) -> tuple[Chart, ...]:
    """A chart for each model that was trained; empty if none was."""
    parts = ", ".join(f"t.{part}_median_ms AS {part}" for part in STEP_PARTS)
    same = " AND ".join(f"i.{name} IS NOT DISTINCT FROM s.{name}" for name in _SAME)
    sql = f"""
        WITH selected AS (SELECT * FROM {selection.relation}),
        steps AS (
            SELECT r.*, {parts} FROM selected r JOIN training_results t USING (result_id)
            WHERE r.mode = 'training' AND r.latency_median_ms > 0
        )
        SELECT s.cell_id, {", ".join(f"s.{name}" for name in _SAME)}, {", ".join(STEP_PARTS)},
            s.training_precision, s.hostname, s.latency_median_ms AS step, s.result_id,
            arg_max(i.latency_median_ms, i.measured_at) AS query,
            arg_max(i.cell_id, i.measured_at) AS query_cell
        FROM steps s LEFT JOIN selected i ON i.mode = 'inference'
            AND i.scenario = 'single_stream' AND {same}
        GROUP BY ALL ORDER BY s.cell_id, s.result_id
    """
    models = grouped(source.arrow(sql).to_pylist(), ("model",))
    return tuple(map(_training_chart, sorted(models, key=lambda rows: -len(rows))[:limit]))


def _training_chart(rows: Sequence[RowFacts]) -> Chart:
    bars = [bar for row in rows[:_MOST_BARS] for bar in _training_bars(row)]
    names = in_order({name for bar in bars for name in bar.parts}, ("inference", *STEP_PARTS))
    model, left_out = str(rows[0]["model"]), len(rows) - _MOST_BARS
    more = f" {left_out} more steps are not drawn." if left_out > 0 else ""
    return Chart(
        file_stem("training", model),
        f"Training steps by part, beside inference · {model}",
        f"{_training_sentence(rows)} Upright marks are the medians of whole steps, which those of"
        f" the parts need not add up to.{more}",
        _spec(bars, names, "ms"),
        backends_of(map(vars, bars)),
    )


def _training_bars(row: RowFacts) -> list[_Bar]:
    words = ", ".join([path_words(row), str(row["precision"]), *size_words(row)])
    backend, host, query = row["backend"], row["hostname"], row["query"]
    parts = {name: row[name] for name in STEP_PARTS if row[name]}
    step = _Bar(f"training · {words}", backend, row["cell_id"], parts, host, row["step"])
    if query is None:
        return [step]
    alone = {"inference": query}
    return [step, _Bar(f"inference · {words}", backend, row["query_cell"], alone, host, query)]


def _training_sentence(rows: Sequence[RowFacts]) -> str:
    longest = max(rows, key=lambda row: float(row["step"]))
    first = f"The longest step takes {amount(longest['step'], 'ms')} ({longest['cell_id']})."
    ratios = sorted(row["step"] / row["query"] for row in rows if row["query"])
    if not ratios:
        return f"{first} No inference of the same sizes was measured beside it."
    span = amount(ratios[0])
    span = span if len(ratios) == 1 else f"{span} to {amount(ratios[-1])}"
    return f"{first} A step takes {span} times as long as an inference of the same sizes."


def startup_stages(source: ArrowSource, selection: Selection) -> tuple[Chart, ...]:
    """The chart of the slowest starts by stage; empty if none was measured."""
    stages = ", ".join(
        f"t.startup_{kind}_{stage}_median_s AS {kind}_{stage}"
        for kind in ("warm", "cold")
        for stage in START_STAGES
    )
    sql = f"""
        SELECT r.cell_id, r.model, r.backend, r.runtime, r.precision, r.workers, r.hostname,
            {stages},
            r.latency_median_ms / 1000 AS warm, t.startup_cold_median_s AS cold,
            count(*) OVER () AS starts
        FROM {selection.relation} r JOIN startup_results t USING (result_id)
        WHERE r.latency_median_ms > 0 ORDER BY warm DESC, r.cell_id LIMIT {_MOST_BARS}
    """
    rows = source.arrow(sql).to_pylist()
    bars = [bar for row in rows for kind in ("warm", "cold") if (bar := _start_bar(row, kind))]
    if not bars:
        return ()
    left_out = rows[0]["starts"] - len(rows)
    chart = Chart(
        "startup-stages",
        "Starts by stage: files in memory (warm) and from the disk (cold)",
        _start_sentence(rows, bars)
        + (f" {left_out} quicker starts are not drawn." if left_out else ""),
        _spec(bars, [stage.replace("_", " ") for stage in START_STAGES], "s"),
        backends_of(map(vars, bars)),
    )
    return (chart,)


def _start_bar(row: RowFacts, kind: str) -> _Bar | None:
    stages = {stage.replace("_", " "): row[f"{kind}_{stage}"] for stage in START_STAGES}
    parts = {stage: seconds for stage, seconds in stages.items() if seconds}
    if not parts or row[kind] is None:
        return None
    workers = f", {noun_count(row['workers'], 'worker')}" if row["workers"] else ""
    words = f"{kind} · {row['model']}, {path_words(row)}, {row['precision']}{workers}"
    return _Bar(words, row["backend"], row["cell_id"], parts, row["hostname"], row[kind])


def _start_sentence(rows: Sequence[RowFacts], bars: Sequence[_Bar]) -> str:
    slowest = max(bars, key=lambda bar: bar.whole)
    stage, seconds = max(slowest.parts.items(), key=lambda part: part[1])
    quickest = min(rows, key=lambda row: float(row["warm"]))
    return (
        f"The slowest start takes {amount(slowest.whole, 's')} ({slowest.words}), of which"
        f" the stage `{stage}` takes {amount(seconds, 's')}; the quickest warm one drawn takes"
        f" {amount(quickest['warm'], 's')} ({path_words(quickest)}). Upright marks are medians of"
        " whole starts."
    )


def _spec(bars: Sequence[_Bar], names: Sequence[str], unit: str) -> Spec:
    rows_named = distinct_rows((bar.words, bar.host) for bar in bars)
    bars = [replace(bar, words=words) for bar, words in zip(bars, rows_named, strict=True)]
    points = [point for bar in bars for point in _points(bar, names, unit)]
    wholes = {"values": [{"row": bar.words, "whole": bar.whole} for bar in bars]}
    filling = {
        "field": "part",
        "type": "nominal",
        "scale": {"type": "ordinal", "domain": [*names], "range": [*_OPACITIES[: len(names)]]},
        "legend": {"symbolType": "square", "symbolStrokeWidth": 1},
        "sort": [*names],
    }
    return {
        **named_rows((bar.words for bar in bars), step=38),
        "layer": [
            _bar_layer(points, unit, "fill", {}, {"opacity": filling}),
            _bar_layer(points, unit, "stroke", {"fill": "transparent", "strokeWidth": 1}, {}),
            {
                "data": wholes,
                "mark": {"type": "tick", "opacity": 1, "thickness": 2, "height": 18, "yOffset": 7},
                "encoding": {"x": {"field": "whole", "type": "quantitative"}},
            },
            {"data": wholes, **row_names(dy=-8)},
        ],
    }


def _points(bar: _Bar, names: Sequence[str], unit: str) -> list[Point]:
    return [
        {
            "row": bar.words,
            "backend": bar.backend,
            "part": name,
            "order": names.index(name),
            "value": value,
            "number": amount(value, unit),
            "whole": amount(bar.whole, unit),
            "cell": bar.cell,
        }
        for name, value in bar.parts.items()
    ]


def _bar_layer(points: Sequence[Point], unit: str, channel: str, mark: Spec, more: Spec) -> Spec:
    """The bars filled, or their edges alone."""
    return {
        "data": {"values": points},
        "mark": {"type": "bar", "height": 12, "yOffset": 7, "opacity": 1, **mark},
        "encoding": {
            "x": {**linear_axis("value", f"median, {unit}"), "stack": "zero"},
            channel: backend_colour(backends_of(points)),
            "order": {"field": "order"},
            "tooltip": fields(number="median", part=None, whole="whole, median", cell=None),
            **more,
        },
    }
