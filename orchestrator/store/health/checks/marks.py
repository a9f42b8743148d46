"""Results that claim more than they show, or are seen where they must not be."""

from orchestrator.store.health.checks.check import Check, of_results, own, places
from orchestrator.store.schema.columns import text
from orchestrator.store.schema.origin import OURS, SYNTHETIC
from orchestrator.store.schema.tables import RESULTS, VERSION

_REAL = f"NOT (SELECT scratch FROM {VERSION.name})"
_NUMBERS = (
    *("latency_median_s", "latency_mean_s", "throughput", "token_throughput", "decode_throughput"),
    *("latency_min_s", "latency_p50_s", "time_to_first_token_mean_s", "first_latency_s"),
    *("load_time_s", "memory_peak_bytes", "memory_average_bytes", "memory_device_peak_bytes"),
)
_NOTHING = " AND ".join(f"r.{name} IS NULL" for name in _NUMBERS)
_TIMED = "r.purpose IN ('measure', 'time')"
_UNEVIDENCED = of_results(
    f"{own()} AND r.proof <> 'none' AND coalesce(cardinality(r.evidence), 0) = 0",
    "r.proof || ', without evidence'",
)
_CLAIMED = of_results(
    f"NOT {own()} AND r.proof <> 'none'", "r.proof || ', though nobody of ours has seen it'"
)
_MARKED = of_results("len(r.marks) > 0 AND NOT r.simulated", "r.marks[1]")
_DEFAULT = ("benchmark_performance", "failures")
_SHOWN = " UNION ".join(f"SELECT result_id FROM {view}" for view in _DEFAULT)


def _withdraw(query: str) -> str:
    return f"UPDATE {RESULTS.name} r SET proof = 'none' WHERE {places(query)}"


MARKS = (
    Check(
        "ok without a measurement",
        of_results(
            f"r.status = 'ok' AND CASE WHEN {own('r.source')}"
            f" THEN {_TIMED} AND r.latency_median_s IS NULL ELSE {_NOTHING} END",
            "'no latency, no throughput'",
        ),
        "`--fix` derives the statistics from raw durations, or takes the result out",
        imported="note",
        table=RESULTS,
    ),
    Check(
        "proof without evidence",
        _UNEVIDENCED,
        "`--fix` withdraws the proof, so that no default view shows the result",
        mends=(_withdraw(_UNEVIDENCED),),
    ),
    Check(
        "proof of what others measured",
        _CLAIMED,
        "`--fix` withdraws the proof",
        imported="error",
        mends=(_withdraw(_CLAIMED),),
    ),
    Check(
        "simulated, and called ours",
        of_results(f"r.source = {text(OURS)} AND r.simulated", "'simulated'"),
        "`--fix` takes such results out",
        table=RESULTS,
        outright=True,
    ),
    Check(
        "marked, and not called simulated",
        _MARKED,
        "`--fix` calls it simulated",
        imported="error",
        mends=(f"UPDATE {RESULTS.name} r SET simulated = true WHERE {places(_MARKED)}",),
    ),
    Check(
        "in a default view, and not ours",
        of_results(
            f"(r.source <> {text(OURS)} OR r.simulated) AND r.source <> {text(SYNTHETIC)}"
            f" AND r.result_id IN ({_SHOWN})",
            "'shown by benchmark_performance or failures'",
        ),
        "`--fix` makes the views anew",
        imported="error",
        asks=_DEFAULT,
    ),
    Check(
        "made up, in a real database",
        of_results(
            f"(r.backend = 'fake' OR r.source = {text(SYNTHETIC)}) AND {_REAL}",
            "'backend ' || coalesce(r.backend, 'null') || ', source ' || r.source",
        ),
        "`--fix` takes such results out; a scratch database takes them",
        imported="error",
        table=RESULTS,
        outright=True,
    ),
    Check(
        "ok, and not proven",
        of_results(
            f"r.source = {text(OURS)} AND r.status = 'ok' AND r.proof <> 'proven'",
            "'proof ' || r.proof",
        ),
        "no default view shows it; `evidence` tells why",
        severity="note",
    ),
)
