"""The relation `records` that checks judge, with the statistics that raw durations tell."""

import re
from collections.abc import Collection
from functools import cache
from importlib.resources import files

from orchestrator.store.schema.parquet_columns import KNOWN

_IN_DATABASE = "SELECT *, rowid AS row_id FROM benchmark_results"
WITH_DURATIONS = f"(SELECT * FROM ({_IN_DATABASE}) LEFT JOIN raw_benchmark_data USING (result_id))"


@cache
def read_sql(name: str) -> str:
    return files(__package__).joinpath("sql", f"{name}.sql").read_text("utf-8")


_EXPRESSIONS: list[tuple[str, str]] = re.findall(
    r"(.+?) AS derived_(\w+),?\n", read_sql("derived").partition("\n")[2], re.DOTALL
)
"""The expressions of statistics with the names of the columns that state them."""
OF_PARTS = tuple(name for _, name in _EXPRESSIONS if not name.startswith(("latency_", "steady_")))
"""Statistics of the parts of an iteration, and not of it as a whole."""


def records_in_database(*, timed: bool) -> str:
    """The clause that names the rows of the database `records`, with their raw durations or not."""
    return with_derived(WITH_DURATIONS) if timed else f"WITH records AS ({_IN_DATABASE})"


def with_derived(
    timed: str, needed: str = "is_ours(source) AND status = 'ok'", columns: Collection[str] = KNOWN
) -> str:
    """The clause that names rows with raw durations `records`; `needed` ones must state theirs."""
    return f"WITH records AS ({derived(timed, needed, columns)})"


def derived(timed: str, needed: str, columns: Collection[str] = KNOWN) -> str:
    """SELECT rows with their statistics: those of parts for these columns alone."""
    statistics = ", ".join(
        f"{expression} AS derived_{name}"
        for expression, name in _EXPRESSIONS
        if name in columns or name not in OF_PARTS
    )
    return f"SELECT *, {needed} AS needed, {statistics} FROM {timed}"
