"""How far numbers may differ before they contradict each other.

Ours were computed from the same integers, so they agree to the rounding of doubles. What others
printed agrees to half of the last digit that they printed; the shortest text of a number has at
most these digits, so it never makes the tolerance too small.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.store.health.checks.check import of_results, own

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
