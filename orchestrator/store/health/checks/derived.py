"""Columns that follow from others, and do not.

docs/measuring.md defines them. A mend derives a column only from statistics that the raw durations
confirm, and only where the cell's id confirms the batch; what else contradicts itself is not known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.store.health.checks.check import Check, of_results, own, places
from orchestrator.store.schema.tables import RAW, RESULTS

RELATIVE = 1e-9
ABSOLUTE = 1e-12
NANOSECOND = 1e-9
"""Raw durations that others kept as fractions of a second were rounded to these."""

FUNCTIONS = (
    """
    CREATE OR REPLACE TEMP MACRO half_digit(x) AS 0.5 * pow(10,
        coalesce(try_cast(split_part(x::DOUBLE::VARCHAR, 'e', 2) AS INTEGER), 0)
        - length(rtrim(split_part(split_part(x::DOUBLE::VARCHAR, 'e', 1), '.', 2), '0')))
    """,
    f"""
    CREATE OR REPLACE TEMP MACRO rounding(x, y, source) AS
        {RELATIVE} * abs(y) + CASE WHEN {own()} THEN {ABSOLUTE}
        ELSE half_digit(x) + half_digit(y) + {NANOSECOND} END
    """,
)
"""What the checks' SQL calls by name."""


@dataclass(frozen=True)
class Pair:
    """Two expressions over the results `r` that belong together."""

    name: str
    """The first one's column."""
    first: str
    second: str
    named: str = ""
    """The second one's column, where it has one."""
    needed: str = "false"
    """When the first may not be null though the second is not."""

    @property
    def struct(self) -> str:
        """Both with their names, as the told reason needs them."""
        return (
            f"{{'name': '{self.name}', 'x': ({self.first})::DOUBLE, 'y': ({self.second})::DOUBLE,"
            f" 'named': '{self.named}', 'needed': {self.needed}}}"
        )


def beyond(first: str, second: str) -> str:
    """Whether two numbers differ by more than doubles do; for ours this is all there is."""
    return f"abs({first} - {second}) > {RELATIVE} * abs({second}) + {ABSOLUTE}"


def contradictions(pairs: Sequence[Pair], joined: str = "", condition: str = "true") -> str:
    """A check's query: rows in which the two of a pair are not the same."""
    apart = " OR ".join(
        f"({beyond(pair.first, pair.second)}) OR ({_lacking(pair)})" for pair in pairs
    )
    wrong = "(abs(p.x - p.y) > rounding(p.x, p.y, r.source) OR (p.needed AND p.x IS NULL))"
    words = "p.name || ' is ' || coalesce(p.x::VARCHAR, 'null') || ', not ' || p.y"
    return _found(
        pairs, f"({apart}) AND {condition}", f"p.y IS NOT NULL AND {wrong}", words, joined
    )


def disorder(pairs: Sequence[Pair]) -> str:
    """A check's query: rows in which the first of a pair is above the second."""
    above = " OR ".join(f"{pair.first} > {pair.second}" for pair in pairs)
    wrong = "p.x > p.y AND p.x - p.y > rounding(p.x, p.y, r.source)"
    words = "p.name || ' ' || p.x || ' is above ' || p.named || ' ' || p.y"
    return _found(pairs, above, wrong, words)


def _lacking(pair: Pair) -> str:
    return f"{pair.needed} AND {pair.first} IS NULL AND {pair.second} IS NOT NULL"


def _found(pairs: Sequence[Pair], condition: str, wrong: str, words: str, joined: str = "") -> str:
    """Rounding is looked at in those rows alone that a plain comparison picks."""
    structs = ", ".join(pair.struct for pair in pairs)
    told = f"array_to_string([{words} FOR p IN [{structs}] IF {wrong}], ', ')"
    return f"SELECT * FROM ({of_results(condition, told, joined)}) WHERE told <> ''"


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
