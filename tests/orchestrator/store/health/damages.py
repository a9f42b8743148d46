"""Ways to damage a sound database by hand, each with the check that must find it."""

import csv
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from tests.support.data import STORE_DATA


@dataclass(frozen=True)
class Damage:
    """Statements that do harm, and the name of the check that finds it."""

    check: str
    sql: str
    """With the place `{row}` for the id of the result, where one row is harmed."""
    kind: str = "inference"
    """Of what kind that row must be."""

    def __str__(self) -> str:
        return f"{self.check}: {' '.join(self.sql.split())[:60]}"


def _read(table: str, change: str, check: str, kind: str, group: str) -> tuple[str, Damage]:
    harm = f"UPDATE {table} SET {change} WHERE result_id = '{{row}}'" if table else change
    return group, Damage(check, harm, kind)


with (STORE_DATA / "damages.csv").open(encoding="utf-8", newline="") as _file:
    _DAMAGES = [_read(**row) for row in csv.DictReader(_file)]
OF_ROWS = tuple(damage for group, damage in _DAMAGES if not group)
"""Each harms one result, so that all may be done to one database."""
TOGETHER = tuple(
    tuple(damage for _, damage in damages)
    for group, damages in groupby(_DAMAGES, key=itemgetter(0))
    if group
)
"""Each harms the whole database; those of one group can be done to one database."""
OF_ALL = tuple(damage for group in TOGETHER for damage in group)
