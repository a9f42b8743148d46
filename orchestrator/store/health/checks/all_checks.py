"""All checks: those of the SQL files, and those made from the columns of results.

docs/measuring.md defines the columns. A repair derives a column only from statistics that the raw
durations confirm, and only where the cell's id confirms the batch.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from analysis.results.source import text
from orchestrator.store.health.checks.check import Check, RecordCheck, checks_in, record_check
from orchestrator.store.schema.tables import REQUIRED, RESULTS
from runner.contract.record.ranges import RANGES, Range

_Chain = tuple[str, ...]
"""Columns of which none is above one behind it."""
_FAULTS: Mapping[str, str] = {
    "size": "no_size(r.{name})",
    "positive": "not_positive(r.source, r.{name})",
    "non-negative": "negative(r.{name})",
    "deviation": "below_zero(r.{name})",
    "cosine": "CASE WHEN NOT isnan(r.{name}) THEN outside(r.{name}, {low}, {high}) END",
    "finite": "infinite(r.{name})",
}
"""The words for a fault of a column, by its range; of others, that it is outside."""
_OUTSIDE = "outside(r.{name}, {low}, {high})"
_NO_TIME = "list_min(r.durations_ns) = 0"
_ORDERED = "`--fix` takes from raw durations what they tell, and takes out the rest"


def ranges() -> Iterator[tuple[str, Range]]:
    """The columns of results that hold numbers, each with its range; seeds may be any."""
    for column in RESULTS.columns:
        if column.range is not None:
            yield column.name, RANGES[column.range]


def _range_check() -> RecordCheck:
    """No number is outside its range; the least and the largest of each range stand for others."""
    faults = (
        _FAULTS.get(known.name, _OUTSIDE).format(name=name, low=known.low, high=known.high)
        for name, known in ranges()
    )
    columns: dict[Range, list[str]] = {}
    for name, known in ranges():
        columns.setdefault(known, []).append(f"r.{name}")
    return record_check(
        f"concat_ws(', ', {', '.join(faults)})",
        " OR ".join(_outside(known, names) for known, names in columns.items()),
        name="impossible value",
        remedy="`--fix` derives statistics from raw durations and takes out what it cannot derive",
        imported="error",
        table=RESULTS.name,
    )


def _outside(known: Range, names: Sequence[str]) -> str:
    if known.low is None:
        return " OR ".join(f"NOT isfinite({name})" for name in names)
    if known.name == "cosine":
        between = f"BETWEEN {known.low} AND {known.high}"
        return " OR ".join(f"NOT (isnan({name}) OR {name} {between})" for name in names)
    least, largest = f"least({', '.join(names)})", f"greatest({', '.join(names)})"
    if known.name == "deviation":
        return f"{least} < 0"
    return f"NOT ({least} {'>' if known.above else '>='} {known.low} AND {largest} <= {known.high})"


def _zero_check() -> RecordCheck:
    """Others' files have no 0 for what they did not measure."""
    names = [f"r.{name}" for name, known in ranges() if known.name == "positive"]
    zeros = ", ".join(f"zero({name})" for name in names)
    return record_check(
        f"concat_ws(', ', {zeros}, CASE WHEN {_NO_TIME} THEN 'a raw duration is 0' END)",
        f"NOT is_ours(r.source) AND (least({', '.join(names)}) = 0 OR {_NO_TIME})",
        name="zero of others",
        remedy="ask whoever wrote the file",
        severity="warning",
        timed=True,
        at_entry=False,
    )


def _order_check(name: str, chains: Sequence[_Chain]) -> RecordCheck:
    """Columns are in order; every pair counts, since those between may be null."""
    pairs = (f"pair(r.{low}, r.{high})" for chain in chains for low, high in combinations(chain, 2))
    above = (
        f"greatest({', '.join(f'r.{name}' for name in chain[:index])}) > r.{chain[index]}"
        for chain in chains
        for index in range(1, len(chain))
    )
    return record_check(
        f"disorder([{', '.join(pairs)}], r.source)",
        " OR ".join(above),
        name=name,
        remedy=_ORDERED,
        table=RESULTS.name,
    )


def _interval_chains() -> tuple[_Chain, ...]:
    """Every column between the ends of its interval."""
    names = {column.name for column in RESULTS.columns}
    chains = ((low, low.replace("_low", ""), low.replace("_low", "_high")) for low in names)
    return tuple(sorted(chain for chain in chains if len({*chain} & names) == 3))


_PERCENTILES = ("p50", "p90", "p95", "p99", "p999")
_PERCENTILE_CHAINS = (
    ("latency_min_s", *(f"latency_{name}_s" for name in _PERCENTILES), "latency_max_s"),
    *(
        tuple(f"{time}_{name}_s" for name in _PERCENTILES)
        for time in ("time_to_first_token", "time_per_output_token", "inter_token_latency")
    ),
)
_MIDDLE_CHAINS = tuple(
    ("latency_min_s", middle, "latency_max_s") for middle in ("latency_median_s", "latency_mean_s")
)


def _word_check() -> Check:
    """Words are listed; others may have their own where a column may be null."""
    faults = (
        f"CASE WHEN r.{column.name} NOT IN ({', '.join(map(text, column.allowed))})"
        f"{'' if column.name in REQUIRED else ' AND is_ours(r.source)'}"
        f" THEN {text(f'{column.name} is ')} || r.{column.name} END"
        for column in RESULTS.columns
        if column.allowed
    )
    query = f"""
        SELECT * FROM (
            SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
                concat_ws(', ', {", ".join(faults)}) AS fault
            FROM {RESULTS.name} r
        ) WHERE fault <> ''
    """
    remedy = "`--fix` takes such results out"
    return Check(
        name="unknown word", remedy=remedy, query=query, imported="error", table=RESULTS.name
    )


_VALUES = (_range_check(), _zero_check(), *checks_in("values"), _word_check())
CHECKS: tuple[Check, ...] = (
    *(*checks_in("identity"), *checks_in("raw_durations"), *checks_in("arithmetic"), *_VALUES),
    _order_check("percentiles out of order", _PERCENTILE_CHAINS),
    _order_check("middle outside its range", _MIDDLE_CHAINS),
    _order_check("interval out of order", _interval_chains()),
    *checks_in("claims"),
)
"""In the order in which they are reported and repaired: later repairs build on earlier ones."""
RECORD_CHECKS: tuple[RecordCheck, ...] = tuple(
    check for check in dict.fromkeys((*_VALUES, *CHECKS)) if isinstance(check, RecordCheck)
)
"""Those that judge each record by itself: values first, since what follows from a wrong one is
wrong as well."""
