"""Raw durations of results: their course with the warm-up before it, and their distribution."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate

from analysis.charts.chart import Chart, Spec
from analysis.charts.layers import Point, backend_colour, fields, linear_axis, log_axis, span_words
from analysis.charts.questions import MOST_CHARTS
from analysis.charts.words import file_stem, noun_count
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource, text
from analysis.results.table import RowFacts
from analysis.statistics.numbers import amount

MOST_MARKS = 2_000
"""Marks of one drawing; beyond it, bins show their shortest and their longest duration."""
_BARS = 40
_TAIL = 0.99
"""Share of the durations that a histogram holds; the others are counted in its sentence."""
_WARM_UP, _TIMED = "warm-up", "timed"
_SERIES = "list_concat(coalesce(warmup_durations_ns, []), durations_ns)"
_MEDIAN_RULE = {"type": "rule", "strokeDash": [4, 3]}


def duration_charts(
    source: ArrowSource, selection: Selection, limit: int = MOST_CHARTS
) -> tuple[Chart, ...]:
    """The course and the distribution of the results whose course says most; empty without any.

    Those come first whose level changed or that drifted, then the worst grades. Raw durations of
    imported results are nowhere.
    """
    sql = f"""
        SELECT r.result_id, r.cell_id, r.backend, r.grade, r.drift, r.steady_change,
            r.latency_median_ms AS median, b.round_iterations AS rounds
        FROM {selection.relation} r
        JOIN raw_benchmark_data d USING (result_id) JOIN benchmark_results b USING (result_id)
        WHERE r.latency_median_ms > 0 AND len(d.durations_ns) > 1
        ORDER BY greatest(abs(coalesce(r.steady_change, 0)), coalesce(r.drift, 0)) DESC,
            r.grade DESC, r.cell_id, r.result_id LIMIT {limit}
    """
    results = source.arrow(sql).to_pylist()
    if not results:
        return ()
    ids = ", ".join(text(result["result_id"]) for result in results)
    bins, bars = _rows(source, _course_sql(ids)), _rows(source, _histogram_sql(ids))
    return tuple(
        chart
        for result in results
        for chart in (
            _course(result, bins[result["result_id"]]),
            _distribution(result, bars[result["result_id"]]),
        )
    )


def _rows(source: ArrowSource, sql: str) -> Mapping[str, list[Point]]:
    rows: dict[str, list[Point]] = defaultdict(list)
    for row in source.arrow(sql).to_pylist():
        rows[row.pop("result_id")].append(row)
    return rows


def _course_sql(ids: str) -> str:
    """Bins of the durations in order, as many as are drawn."""
    return f"""
        SELECT result_id, CASE WHEN i < warmups THEN '{_WARM_UP}' ELSE '{_TIMED}' END AS phase,
            min(i) AS i, min(ms) AS low, max(ms) AS high, count(*) AS durations, any_value(n) AS n
        FROM (
            SELECT result_id, len(coalesce(warmup_durations_ns, [])) AS warmups,
                len({_SERIES}) AS n, unnest({_SERIES}) / 1e6 AS ms,
                unnest(range(len({_SERIES}))) AS i
            FROM raw_benchmark_data WHERE result_id IN ({ids})
        )
        GROUP BY result_id, phase, CASE WHEN n <= {MOST_MARKS} THEN i
            ELSE floor(i / ceil(n / {MOST_MARKS / 2})) END
        ORDER BY result_id, i
    """


def _histogram_sql(ids: str) -> str:
    """Timed durations by bar, all as wide on a logarithmic axis; longer ones have a bar beyond."""
    return f"""
        SELECT result_id, bar, exp(low + bar * width) AS left,
            exp(low + (bar + 1) * width) AS right, count(*) AS durations, max(ms) AS longest
        FROM (
            SELECT *, CASE WHEN ln(ms) > last THEN {_BARS}
                ELSE least(floor((ln(ms) - low) / width), {_BARS - 1}) END AS bar
            FROM (
                SELECT *, greatest(last - low, 1e-6) / {_BARS} AS width FROM (
                    SELECT *, ln(min(ms) OVER (PARTITION BY result_id)) AS low,
                        ln(quantile_cont(ms, {_TAIL}) OVER (PARTITION BY result_id)) AS last
                    FROM (
                        SELECT result_id, unnest(durations_ns) / 1e6 AS ms
                        FROM raw_benchmark_data WHERE result_id IN ({ids})
                    )
                )
            )
        ) GROUP BY ALL ORDER BY result_id, bar
    """


def _course(result: RowFacts, bins: Sequence[RowFacts]) -> Chart:
    backend = result["backend"]
    points = [
        {"i": row["i"], "value": value, "phase": row["phase"], "backend": backend}
        for row in bins
        for value in ((row["low"],) if row["durations"] == 1 else (row["low"], row["high"]))
    ]
    first = next(row["i"] for row in bins if row["phase"] == _TIMED)
    starts = [first + passed for passed in accumulate((result["rounds"] or [])[:-1])]
    return Chart(
        file_stem("course", result["cell_id"]),
        f"Durations in order · {result['cell_id']}",
        _course_sentence(result, bins),
        _course_spec(points, starts, result),
        (backend,),
    )


def _course_spec(points: Sequence[Point], starts: Sequence[int], result: RowFacts) -> Spec:
    colour = backend_colour([result["backend"]], legend=False)
    is_timed = f"datum.phase === '{_TIMED}'"
    layers: list[Spec] = [
        {
            "mark": {"type": "point", "size": 14, "strokeWidth": 1, "opacity": 1},
            "encoding": {
                "x": linear_axis("i", "query, the warm-up first"),
                "y": log_axis("value", "duration, ms", points, "value"),
                "stroke": colour,
                "fill": colour,
                "fillOpacity": {"condition": {"test": is_timed, "value": 1}, "value": 0},
                "tooltip": fields(i=None, value=None, phase=None),
            },
        },
        {"mark": _MEDIAN_RULE, "encoding": {"y": {"datum": result["median"]}}},
    ]
    if starts:
        layers.append(
            {
                "data": {"values": [{"start": start} for start in starts]},
                "mark": {"type": "rule", "opacity": 0.5},
                "encoding": {"x": {"field": "start", "type": "quantitative"}},
            }
        )
    return {"data": {"values": points}, "layer": layers}


def _course_sentence(result: RowFacts, bins: Sequence[RowFacts]) -> str:
    total = sum(row["durations"] for row in bins)
    timed = [row for row in bins if row["phase"] == _TIMED]
    count = sum(row["durations"] for row in timed)
    processes = len(result["rounds"] or [])
    several = (
        f" in {noun_count(processes, 'process')}, upright lines between them,"
        if processes > 1
        else ""
    )
    thinned = (
        f" Of {total:,} durations the shortest and the longest of every"
        f" {max(row['durations'] for row in bins)} are drawn."
        if total > MOST_MARKS
        else ""
    )
    return (
        f"{total - count:,} warm-up (hollow) and {count:,} timed durations{several}"
        f" around a median of {amount(result['median'], 'ms')} (dashed); the longest timed one took"
        f" {amount(max(row['high'] for row in timed), 'ms')}.{_changes(result)}{thinned}"
    )


def _changes(result: RowFacts) -> str:
    words = []
    if change := result["steady_change"]:
        words.append(f"the surest change of level inside a process is {change:+.1%}")
    if drift := result["drift"]:
        words.append(f"medians of processes range over {drift:.1%}")
    return f" Grade {result['grade'] or 'none'}: {'; '.join(words)}." if words else ""


def _distribution(result: RowFacts, bars: Sequence[RowFacts]) -> Chart:
    inside = [{**bar, "backend": result["backend"]} for bar in bars if bar["bar"] < _BARS]
    beyond = next((bar for bar in bars if bar["bar"] >= _BARS), None)
    total = sum(bar["durations"] for bar in bars)
    mode = max(inside, key=lambda bar: int(bar["durations"]))
    more = (
        f" Beyond the right end: {noun_count(beyond['durations'], 'duration')}, up to"
        f" {amount(beyond['longest'], 'ms')}."
        if beyond
        else ""
    )
    return Chart(
        file_stem("distribution", result["cell_id"]),
        f"Distribution of timed durations · {result['cell_id']}",
        f"The fullest bar holds {mode['durations']:,} of {total:,} durations,"
        f" {span_words(mode['left'], mode['right'], 'ms')}; the median is"
        f" {amount(result['median'], 'ms')} (dashed).{more}",
        _histogram_spec(inside, result),
        (result["backend"],),
    )


def _histogram_spec(bars: Sequence[Point], result: RowFacts) -> Spec:
    ends = [{"value": end} for bar in bars for end in (bar["left"], bar["right"])]
    shown = [*fields(durations=None), *fields(",.4~g", left="from, ms", right="to, ms")]
    return {
        "data": {"values": bars},
        "layer": [
            {
                "mark": {"type": "rect", "opacity": 1},
                "encoding": {
                    "x": log_axis("left", "duration, ms", ends),
                    "x2": {"field": "right"},
                    "y": linear_axis("durations", "durations"),
                    "y2": {"datum": 0},
                    "color": backend_colour([result["backend"]], legend=False),
                    "tooltip": shown,
                },
            },
            {"mark": _MEDIAN_RULE, "encoding": {"x": {"datum": result["median"]}}},
        ],
    }
