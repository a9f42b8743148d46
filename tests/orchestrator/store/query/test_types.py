"""Every type that DuckDB has, in every format."""

import csv
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.store.query.ask import asking, showing
from orchestrator.store.query.formats import WRITERS, json_rows, json_values, to_json
from tests.support.data import STORE_DATA


class Value(NamedTuple):
    """One value, and what becomes of it."""

    type: str
    """As `duckdb_types()` names it."""
    sql: str
    json: Any
    """In JSON, and what Parquet holds."""
    shown: str | None = None
    """In a table, in CSV and in Markdown, where it is not the text of `json`."""

    @property
    def text(self) -> str:
        if self.shown is not None:
            return self.shown
        nested = isinstance(self.json, list | dict)
        return json.dumps(self.json, ensure_ascii=False) if nested else str(self.json)


VALUES = [
    Value(*value) for value in json.loads((STORE_DATA / "duckdb_values.json").read_text("utf-8"))
]
"""Each type, and what is particular about it."""
QUESTION = ", ".join(f"{value.sql} AS c{place}" for place, value in enumerate(VALUES))
SQL = f"SELECT {QUESTION} FROM range(2) ORDER BY range"
PLAIN = (
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "DOUBLE",
    "BOOLEAN",
    "VARCHAR",
    "TIMESTAMP WITH TIME ZONE",
)
NO_VALUES = {"TYPE"}
"""Types whose values are types."""


@pytest.fixture(scope="module")
def written(empty: Path) -> dict[str, bytes]:
    contents = {}
    for form, write in WRITERS.items():
        file = io.BytesIO()
        with asking(empty, SQL) as answer:
            write(answer, file)
        contents[form] = file.getvalue()
    return contents


def test_no_type_is_left_out() -> None:
    with duckdb.connect() as connection:
        found = connection.execute("SELECT DISTINCT logical_type FROM duckdb_types()").fetchall()
    assert {value.type for value in VALUES} | NO_VALUES == {name for (name,) in found}


@pytest.mark.parametrize("place", range(len(VALUES)), ids=lambda place: VALUES[place].sql)
def test_a_value_is_told_in_every_format(written: dict[str, bytes], place: int) -> None:
    value, name = VALUES[place], f"c{place}"
    shown = json.loads(written["json"])[1][name]
    assert (shown, type(shown)) == (value.json, type(value.json))
    assert list(csv.DictReader(io.StringIO(written["csv"].decode())))[1][name] == value.text
    (batch,) = pq.read_table(io.BytesIO(written["parquet"]), columns=[name]).to_batches()
    assert list(json_rows(batch))[1] == (value.json,)
    cells = written["markdown"].decode().splitlines()[3][2:-2].split(" | ")
    assert cells[place].replace("\\", "") == value.text.replace("\\", "")


def test_a_row_of_an_answer_holds_the_values_of_its_json(empty: Path) -> None:
    with asking(empty, SQL) as answer:
        row = [row for batch in answer.batches for row in json_rows(batch)][1]
    assert row == tuple(value.json for value in VALUES)
    assert [type(value) for value in row] == [type(value.json) for value in VALUES]
    to_json(row)


def test_a_decimal_of_arrow_alone_is_text() -> None:
    column = pa.array([Decimal("1.00"), None], pa.decimal128(5, 2))
    assert json_values(column) == ["1.00", None]


@pytest.mark.parametrize(
    "kinds", [{*PLAIN}, {value.type for value in VALUES}], ids=["plain", "all"]
)
def test_a_table_shows_the_same_as_csv(
    empty: Path, written: dict[str, bytes], kinds: set[str]
) -> None:
    places = [place for place, value in enumerate(VALUES) if value.type in kinds]
    columns = ", ".join(f"c{place}" for place in places)
    with showing(empty, f"SELECT {columns} FROM ({SQL})") as answer:
        assert answer.names == [f"c{place}" for place in places]
        rows = list(answer.rows)
    texts = ["" if value is None else str(value) for value in rows[1]]
    told = list(csv.reader(io.StringIO(written["csv"].decode())))[2]
    assert texts == [told[place] for place in places]
