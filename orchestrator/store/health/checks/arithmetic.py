"""Columns that follow from others, and do not.

docs/measuring.md defines them. A mend derives a column only from statistics that the raw durations
confirm, and only where the cell's id confirms the batch; what else contradicts itself is not known.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.store.health.checks.check import Check, of_results, own, places
from orchestrator.store.health.checks.rounding import RELATIVE, Pair, contradictions
from orchestrator.store.schema.tables import RAW, RESULTS

_MLPERF = "mlperf-inference"
_CONFIRMED = f"""
    r.result_id IN (SELECT result_id FROM {RAW.name} WHERE durations_ns IS NOT NULL)
    AND r.scenario <> 'server'
    AND (r.scenario = 'offline' OR r.cell_id LIKE '%-b' || r.batch_size || '-%')
"""


@dataclass(frozen=True)
class Identity:
    """A column of ours that equals an expression, up to rounding."""

    expression: str
    """In other columns of the results `r`; null where it does not hold."""
    derivable: bool = False
    """Whether raw durations confirm all that the expression needs."""


RATES: Mapping[str, Identity] = {
    "throughput": Identity("r.batch_size * r.iterations / r.steady_time_s", derivable=True),
    "token_throughput": Identity(
        "r.batch_size * r.new_tokens * r.iterations / r.steady_time_s", derivable=True
    ),
    "decode_throughput": Identity("r.batch_size / r.time_per_output_token_mean_s", derivable=True),
    "achieved_qps": Identity("r.iterations / r.steady_time_s"),
}
RATIOS: Mapping[str, Identity] = {
    "latency_cv": Identity("r.latency_stddev_s / r.latency_mean_s", derivable=True),
    "latency_precision": Identity(
        "(r.latency_median_high_s - r.latency_median_low_s) / 2 / r.latency_median_s"
    ),
    "energy_per_sample_joules": Identity("r.energy_joules / (r.batch_size * r.iterations)"),
    "energy_per_token_joules": Identity(
        "r.energy_joules / (r.batch_size * r.iterations * r.new_tokens)"
    ),
    "concurrent_models_per_second": Identity("r.concurrent_workers / r.concurrent_time_s"),
}


def _contradictions(identities: Mapping[str, Identity]) -> str:
    """Rows of ours with a column that is none of what it should be."""
    pairs = [Pair(column, f"r.{column}", each.expression) for column, each in identities.items()]
    return contradictions(pairs, condition=own("r.source"))


def _derivations(identities: Mapping[str, Identity]) -> tuple[str, ...]:
    return tuple(
        f"""
        UPDATE {RESULTS.name} r SET {column} = {each.expression}
        WHERE {places(_contradictions({column: each}))} AND {_CONFIRMED}
        """
        for column, each in identities.items()
        if each.derivable
    )


TWO_CLOCKS = 0.05
"""Who times queries and the whole run apart, by two clocks, may be off by this share."""
_EXPECTED = "(r.batch_size / r.latency_mean_s)"
_OFF = f"abs(r.throughput - {_EXPECTED})"
_PRINTED = f"""
    half_digit(r.throughput) + {_EXPECTED} * half_digit(r.latency_mean_s) / r.latency_mean_s
    + {_EXPECTED} * {RELATIVE}
"""
_ONE_BY_ONE = f"""
    NOT {own("r.source")} AND r.source <> '{_MLPERF}' AND r.latency_mean_s > 0
    AND coalesce(r.scenario, 'single_stream') = 'single_stream'
"""
_TOLD = f"""
    'throughput is ' || r.throughput || ', and ' || r.batch_size || ' in ' || r.latency_mean_s
    || ' s are ' || {_EXPECTED}
"""


def _others(condition: str) -> str:
    return of_results(f"{_ONE_BY_ONE} AND {condition} AND {_OFF} > {_PRINTED}", _TOLD)


_REMEDY = "`--fix` derives what raw durations confirm, and takes out the rest"

ARITHMETIC = (
    Check(
        "throughput contradicts latency",
        f"{_contradictions(RATES)} UNION ALL {_others(f'{_OFF} > {TWO_CLOCKS} * {_EXPECTED}')}",
        _REMEDY,
        mends=_derivations(RATES),
        table=RESULTS,
    ),
    Check(
        "ratio contradicts its parts",
        _contradictions(RATIOS),
        _REMEDY,
        mends=_derivations(RATIOS),
        table=RESULTS,
    ),
    Check(
        "throughput by another clock",
        _others(f"{_OFF} <= {TWO_CLOCKS} * {_EXPECTED}"),
        "compare throughputs of one source alone",
        severity="note",
        imported="note",
    ),
)
