"""Statistics that the raw durations do not confirm. These checks alone read the durations."""

from collections.abc import Mapping

from orchestrator.store.health.checks.check import Check, of_results, own, own_places
from orchestrator.store.health.checks.derived import Pair, beyond, contradictions
from orchestrator.store.schema.tables import RAW, RESULTS

_SECONDS: Mapping[str, str] = {
    "latency_mean_s": "list_avg(durations_ns) / 1e9",
    "latency_median_s": "list_median(durations_ns) / 1e9",
    "latency_min_s": "list_min(durations_ns) / 1e9",
    "latency_max_s": "list_max(durations_ns) / 1e9",
}
"""What everybody computes alike."""
_OURS: Mapping[str, str] = {
    "latency_stddev_s": "list_stddev_samp(durations_ns) / 1e9",
    "latency_p50_s": "list_median(durations_ns) / 1e9",
    **{
        f"latency_{name}_s": (
            f"CASE WHEN len(durations_ns) >= {needed}"
            f" THEN list_aggregate(durations_ns, 'quantile_cont', {fraction}) / 1e9 END"
        )
        for name, fraction, needed in (
            ("p90", 0.9, 64),
            ("p95", 0.95, 130),
            ("p99", 0.99, 662),
            ("p999", 0.999, 6636),
        )
    },
}
"""What we compute so, and others perhaps otherwise; percentiles from as many as they need."""
_STEADY = {"steady_time_s": "list_sum(durations_ns) / 1e9"}
_WITNESSES = {**_SECONDS, **_STEADY}
_STATISTICS = {**_SECONDS, **_OURS, **_STEADY}
_PARTS: Mapping[str, str] = {
    **{
        f"{prefix}_{name}_s": f"list_{function}(part_durations_ns['{part}']) / 1e9"
        for prefix, part in (
            ("time_to_first_token", "first_token"),
            ("time_per_output_token", "output_token"),
            *((part, part) for part in ("forward", "loss", "backward", "optimizer")),
        )
        for name, function in (("mean", "avg"), ("median", "median"))
    },
    **{
        f"startup_{stage}_mean_s": f"list_avg(part_durations_ns['{stage}']) / 1e9"
        for stage in ("interpreter", "import", "instantiate", "weights", "first_query")
    },
    "service_median_s": "list_median(part_durations_ns['service']) / 1e9",
}
_TIMED = "len(durations_ns) > 0"
_IN_PARTS = "part_durations_ns IS NOT NULL"


def _recomputed(statistics: Mapping[str, str], condition: str) -> str:
    """The durations' own statistics, under the names of the columns."""
    columns = ", ".join(f"{expression} AS {name}" for name, expression in statistics.items())
    return (
        f"(SELECT result_id, len(durations_ns) AS n, {columns} FROM {RAW.name} WHERE {condition}) d"
    )


def _expected(column: str) -> str:
    """What the column must be, as far as that is known: null elsewhere."""
    if column in _STEADY:
        return f"CASE WHEN r.scenario <> 'server' THEN d.{column} END"
    if column in _OURS:
        return f"CASE WHEN {own('r.source')} THEN d.{column} END"
    return f"d.{column}"


def _pair(column: str) -> Pair:
    needed = f"({own('r.source')} AND r.status = 'ok')" if column in _WITNESSES else "false"
    return Pair(column, f"r.{column}", _expected(column), needed=needed)


def _contradictions(statistics: Mapping[str, str], condition: str) -> str:
    joined = f"JOIN {_recomputed(statistics, condition)} USING (result_id)"
    return contradictions([_pair(column) for column in statistics], joined)


def _derived(column: str) -> str:
    """The column as the durations have it, or as it is where that is the same."""
    expected = _expected(column)
    wrong = beyond(f"r.{column}", expected)
    if column in _WITNESSES:
        wrong = f"({wrong}) OR r.{column} IS NULL"
    return f"{column} = CASE WHEN {wrong} THEN coalesce({expected}, r.{column}) ELSE r.{column} END"


def _derivation(statistics: Mapping[str, str], condition: str, confirmed: str) -> str:
    return f"""
        UPDATE {RESULTS.name} r SET {", ".join(map(_derived, statistics))}
        FROM {_recomputed(statistics, condition)}
        WHERE r.result_id = d.result_id AND ({confirmed})
            AND {own_places(_contradictions(statistics, condition))}
    """


_CONFIRMED = " OR ".join(f"NOT ({beyond(f'r.{name}', f'd.{name}')})" for name in _WITNESSES)
"""Whether the durations are this result's at all: one of their statistics at least is."""
_COUNTED = of_results(
    "r.iterations IS DISTINCT FROM d.n AND (r.iterations IS NOT NULL"
    f" OR ({own('r.source')} AND r.status = 'ok'))",
    "'iterations is ' || coalesce(r.iterations::VARCHAR, 'null') || ', durations ' || d.n",
    f"JOIN (SELECT result_id, len(durations_ns) AS n FROM {RAW.name}"
    " WHERE durations_ns IS NOT NULL) d USING (result_id)",
)
_COUNT = f"""
    UPDATE {RESULTS.name} r SET iterations = d.n FROM {_recomputed(_WITNESSES, _TIMED)}
    WHERE r.result_id = d.result_id AND ({_CONFIRMED}) AND {own_places(_COUNTED)}
"""
_REMEDY = "`--fix` derives them where the durations are this result's, and takes out the rest"

RAW_DURATIONS = (
    Check(
        "iterations are not the durations",
        _COUNTED,
        _REMEDY,
        mends=(_COUNT,),
        table=RESULTS,
    ),
    Check(
        "statistics contradict raw durations",
        _contradictions(_STATISTICS, _TIMED),
        _REMEDY,
        mends=(_derivation(_STATISTICS, _TIMED, _CONFIRMED),),
        table=RESULTS,
    ),
    Check(
        "parts contradict raw durations",
        _contradictions(_PARTS, _IN_PARTS),
        _REMEDY,
        mends=(_derivation(_PARTS, _IN_PARTS, "true"),),
        table=RESULTS,
    ),
    Check(
        "rounds are not the iterations",
        of_results(
            "list_sum(r.round_iterations) <> r.iterations OR len(r.round_iterations) <> r.rounds",
            "r.rounds || if(r.rounds = 1, ' round of ', ' rounds of ')"
            " || array_to_string(r.round_iterations, ' + ')"
            " || ' iterations, ' || r.iterations || ' in all'",
        ),
        "`--fix` takes such results out",
        table=RESULTS,
    ),
)
