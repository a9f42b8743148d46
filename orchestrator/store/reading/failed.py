"""Questions that fail: DuckDB's words, and what may help against that kind of error."""

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from orchestrator.errors import StoreError
from orchestrator.store.file.explaining import explain, interruptible

FAILED = "the query failed"
_NAMES = "docs/schema.md names tables, views and columns"
_VALUES = "mend the expression; `TRY_CAST(… AS …)` and `TRY(…)` give null where that fails"
_HINTS = {
    "Binder Error": _NAMES,
    "Catalog Error": _NAMES,
    "Conversion Error": _VALUES,
    "Out of Range Error": _VALUES,
    "Invalid Input Error": _VALUES,
    "Out of Memory Error": "ask for fewer rows or columns, or group them",
    "Permission Error": "a question reads this database alone",
}
"""By what DuckDB's message begins with."""
_OTHERWISE = "docs/ask.md shows questions and their words"


@contextmanager
def answering() -> Iterator[None]:
    """Say what was wrong with the question, also where it comes through Arrow's stream.

    Raises:
        StoreError: DuckDB cannot answer.
    """
    with interruptible():
        try:
            yield
        except (duckdb.Error, OSError, pa.ArrowException) as error:
            told = explain(error)
            hints = (hint for kind, hint in _HINTS.items() if kind in told.partition("\n")[0])
            raise StoreError(f"{FAILED}: {told}", hint=next(hints, _OTHERWISE)) from error
