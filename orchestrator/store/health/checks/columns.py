"""Checks that are made from the columns of results: their ranges, orders and words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from analysis.results.source import text
from orchestrator.store.health.checks.check import Check, RecordCheck
from orchestrator.store.schema.tables import REQUIRED, RESULTS
from runner.contract.record.ranges import RANGES, Range

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


def ranges() -> Iterator[tuple[str, Range]]:
    """The columns of results that hold numbers, each with its range; seeds may be any."""
    for column in RESULTS.columns:
        if column.range is not None:
            yield column.name, RANGES[column.range]


class RangeCheck(RecordCheck):
    """The check that no number is outside its range."""

    @property
    def fault(self) -> str:
        """The words for every number that is."""
        faults = (
            _FAULTS.get(known.name, _OUTSIDE).format(name=name, low=known.low, high=known.high)
            for name, known in ranges()
        )
        return f"concat_ws(', ', {', '.join(faults)})"

    @property
    def condition(self) -> str:
        """True if one may be: the least and the largest of each range stand for the others."""
        columns: dict[Range, list[str]] = {}
        for name, known in ranges():
            columns.setdefault(known, []).append(f"r.{name}")
        return " OR ".join(_outside(known, names) for known, names in columns.items())


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


class ZeroCheck(RecordCheck):
    """The check that others' files have no 0 for what they did not measure."""

    @property
    def fault(self) -> str:
        """The words for every number that is 0 and should be above."""
        zeros = ", ".join(f"zero({name})" for name in self._names)
        return f"concat_ws(', ', {zeros}, CASE WHEN {_NO_TIME} THEN 'a raw duration is 0' END)"

    @property
    def condition(self) -> str:
        """True if one may be."""
        least = f"least({', '.join(self._names)})"
        return f"NOT is_ours(r.source) AND ({least} = 0 OR {_NO_TIME})"

    @property
    def _names(self) -> list[str]:
        return [f"r.{name}" for name, known in ranges() if known.name == "positive"]


@dataclass(frozen=True)
class OrderCheck(RecordCheck):
    """The check that columns are in order; every pair counts, since those between may be null."""

    chains: tuple[tuple[str, ...], ...] = ()
    """Columns of which none is above one behind it."""

    @property
    def fault(self) -> str:
        """The words for every pair that is not."""
        pairs = (
            f"pair(r.{low}, r.{high})"
            for chain in self.chains
            for low, high in combinations(chain, 2)
        )
        return f"disorder([{', '.join(pairs)}], r.source)"

    @property
    def condition(self) -> str:
        """True if one is not, but for rounding."""
        return " OR ".join(
            f"greatest({', '.join(f'r.{name}' for name in chain[:index])}) > r.{chain[index]}"
            for chain in self.chains
            for index in range(1, len(chain))
        )


def interval_chains() -> tuple[tuple[str, ...], ...]:
    """Every column between the ends of its interval."""
    names = {column.name for column in RESULTS.columns}
    chains = ((low, low.replace("_low", ""), low.replace("_low", "_high")) for low in names)
    return tuple(sorted(chain for chain in chains if len({*chain} & names) == 3))


_PERCENTILES = ("p50", "p90", "p95", "p99", "p999")
PERCENTILE_CHAINS = (
    ("latency_min_s", *(f"latency_{name}_s" for name in _PERCENTILES), "latency_max_s"),
    *(
        tuple(f"{time}_{name}_s" for name in _PERCENTILES)
        for time in ("time_to_first_token", "time_per_output_token", "inter_token_latency")
    ),
)
MIDDLE_CHAINS = tuple(
    ("latency_min_s", middle, "latency_max_s") for middle in ("latency_median_s", "latency_mean_s")
)


class WordCheck(Check):
    """The check that words are listed; others may have their own where a column may be null."""

    @property
    def query(self) -> str:
        """The rows in which one is not."""
        faults = (
            f"CASE WHEN r.{column.name} NOT IN ({', '.join(map(text, column.allowed))})"
            f"{'' if column.name in REQUIRED else ' AND is_ours(r.source)'}"
            f" THEN {text(f'{column.name} is ')} || r.{column.name} END"
            for column in RESULTS.columns
            if column.allowed
        )
        return f"""
            SELECT * FROM (
                SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
                    concat_ws(', ', {", ".join(faults)}) AS fault
                FROM {RESULTS.name} r
            ) WHERE fault <> ''
        """


MADE_OF_COLUMNS = (RangeCheck, ZeroCheck, OrderCheck, WordCheck)
"""The checks that have no file."""
