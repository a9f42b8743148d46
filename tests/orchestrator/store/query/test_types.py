"""Every type that DuckDB has, in every format."""

import csv
import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow.parquet as pq
import pytest

from orchestrator.store import WRITERS, asking
from orchestrator.store.query.formats import text_rows
from orchestrator.store.query.values import json_rows


class Value(NamedTuple):
    """One value, and what becomes of it."""

    type: str
    """As `duckdb_types()` names it."""
    sql: str
    told: Any
    """In JSON, and what Parquet holds."""
    text: str | None = None
    """In a table, in CSV and in Markdown, where that is something else."""


VALUES = (
    Value("NULL", "NULL", None, ""),
    Value("BOOLEAN", "true", True, "true"),
    Value("TINYINT", "(-128)::TINYINT", -128),
    Value("SMALLINT", "(-32768)::SMALLINT", -32768),
    Value("INTEGER", "12::INTEGER", 12),
    Value("BIGINT", "9223372036854775807::BIGINT", 2**63 - 1),
    Value("UTINYINT", "255::UTINYINT", 255),
    Value("USMALLINT", "65535::USMALLINT", 65535),
    Value("UINTEGER", "4294967295::UINTEGER", 2**32 - 1),
    Value("UBIGINT", "18446744073709551615::UBIGINT", 2**64 - 1),
    Value("HUGEINT", f"{2**127 - 1}::HUGEINT", 2**127 - 1),
    Value("UHUGEINT", f"{2**128 - 1}::UHUGEINT", str(2**128 - 1)),
    Value("BIGNUM", f"'{10**50}'::BIGNUM", str(10**50)),
    Value("DECIMAL", "1.50::DECIMAL(4, 2)", "1.50"),
    Value("FLOAT", "1.1::FLOAT", 1.1),
    Value("FLOAT", "[1.1::FLOAT, 'NaN'::FLOAT]", [1.1, None], "[1.1, null]"),
    Value("DOUBLE", "0.1 + 0.2::DOUBLE", 0.1 + 0.2),
    Value("DOUBLE", "'-inf'::DOUBLE", None, "-inf"),
    Value("VARCHAR", "'ü'", "ü"),
    Value("VARCHAR", "'[1, 2.50]'::JSON", "[1, 2.50]"),
    Value("ENUM", "'a'::ENUM ('a', 'b')", "a"),
    Value(
        "UUID",
        "UUID '12345678-1234-5678-1234-567812345678'",
        "12345678-1234-5678-1234-567812345678",
    ),
    Value("BLOB", "'\\x00\\xFFa'::BLOB", "00ff61"),
    Value("BIT", "'101'::BIT", "101"),
    Value("INTERVAL", "INTERVAL '1 year -2 days 04:05:06.7'", "1 year -2 days 04:05:06.7"),
    Value("INTERVAL", "INTERVAL 0 DAYS", "00:00:00"),
    Value("DATE", "DATE '2026-11-21'", "2026-11-21"),
    Value("DATE", "'-infinity'::DATE", "-infinity"),
    Value("DATE", "DATE '20000-01-01'", "20000-01-01"),
    Value("DATE", "['infinity'::DATE]", ["infinity"], '["infinity"]'),
    Value("TIME", "TIME '10:00:01.5'", "10:00:01.500000"),
    Value("TIME", "TIME '24:00:00'", "24:00:00"),
    Value("TIME_NS", "'10:00:01.123456789'::TIME_NS", "10:00:01.123456789"),
    Value("TIME WITH TIME ZONE", "'10:00:01+02'::TIMETZ", "10:00:01+02"),
    Value("TIMESTAMP", "TIMESTAMP '2026-11-21 10:00:00'", "2026-11-21T10:00:00"),
    Value("TIMESTAMP", "TIMESTAMP '20000-01-01 10:00:00.25'", "20000-01-01T10:00:00.250000"),
    Value("TIMESTAMP", "'infinity'::TIMESTAMP", "infinity"),
    Value("TIMESTAMP_S", "'2026-11-21 10:00:00'::TIMESTAMP_S", "2026-11-21T10:00:00"),
    Value("TIMESTAMP_MS", "'2026-11-21 10:00:00.5'::TIMESTAMP_MS", "2026-11-21T10:00:00.500"),
    Value(
        "TIMESTAMP_NS",
        "'2026-11-21 10:00:00.123456789'::TIMESTAMP_NS",
        "2026-11-21T10:00:00.123456789",
    ),
    Value(
        "TIMESTAMP WITH TIME ZONE",
        "TIMESTAMPTZ '2026-11-21 10:00:00+02'",
        "2026-11-21T08:00:00+00:00",
    ),
    Value("TIMESTAMP WITH TIME ZONE", "'-infinity'::TIMESTAMPTZ", "-infinity"),
    Value(
        "TIMESTAMPTZ_NS",
        "'2026-11-21 10:00:00.123456789+02'::TIMESTAMPTZ_NS",
        "2026-11-21T08:00:00.123456789+00:00",
    ),
    Value("LIST", "[[1, NULL], NULL, []]", [[1, None], None, []], "[[1, null], null, []]"),
    Value("LIST", "[INTERVAL 1 DAY, NULL]", ["1 day", None], '["1 day", null]'),
    Value("ARRAY", "[1, 2]::INTEGER[2]", [1, 2], "[1, 2]"),
    Value("ARRAY", "['101'::BIT]::BIT[1]", ["101"], '["101"]'),
    Value(
        "STRUCT",
        "{'a \"b': NULL, 'size': INTERVAL 1 DAY}",
        {'a "b': None, "size": "1 day"},
        '{"a \\"b": null, "size": "1 day"}',
    ),
    Value(
        "TUPLE",
        "row(1, '1'::BIT)",
        {"element1": 1, "element2": "1"},
        '{"element1": 1, "element2": "1"}',
    ),
    Value("MAP", "MAP {1: [DATE '2026-11-21']}", {"1": ["2026-11-21"]}, '{"1": ["2026-11-21"]}'),
    Value(
        "MAP",
        "MAP {INTERVAL 1 DAY: {'a': '10:00:00+02'::TIMETZ}}",
        {"1 day": {"a": "10:00:00+02"}},
        '{"1 day": {"a": "10:00:00+02"}}',
    ),
    Value("MAP", "MAP {[1, 2]: 3}", {"[1, 2]": 3}, '{"[1, 2]": 3}'),
    Value("UNION", "union_value(k := 1)", "1"),
    Value("VARIANT", "{'a': 1}::VARIANT", "{'a': 1}"),
    Value("GEOMETRY", "'POINT(1 2)'::GEOMETRY", "POINT (1 2)"),
)
"""Each type, and what is particular about it."""
QUESTION = ", ".join(f"{value.sql} AS c{place}" for place, value in enumerate(VALUES))
SQL = f"SELECT {QUESTION} FROM range(2) ORDER BY range"
NO_VALUES = {"TYPE"}
"""Types whose values are types."""


@pytest.fixture(scope="module")
def written(empty: Path) -> dict[str, bytes]:
    """Two rows with all values in every format."""
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
def test_a_value_is_told_in_every_format(
    empty: Path, written: dict[str, bytes], place: int
) -> None:
    value = VALUES[place]
    name, text = f"c{place}", str(value.told) if value.text is None else value.text
    told = json.loads(written["json"])[1][name]
    assert (told, type(told)) == (value.told, type(value.told))
    assert list(csv.DictReader(io.StringIO(written["csv"].decode())))[1][name] == text
    (batch,) = pq.read_table(io.BytesIO(written["parquet"]), columns=[name]).to_batches()
    assert list(json_rows(batch))[1] == (value.told,)
    cells = written["markdown"].decode().splitlines()[3][2:-2].split(" | ")
    assert cells[place].replace("\\", "") == text.replace("\\", "")


def test_a_table_shows_the_same_as_csv(empty: Path, written: dict[str, bytes]) -> None:
    with asking(empty, SQL) as answer:
        rows = [row for batch in answer.batches for row in text_rows(batch)]
    texts = ["" if value is None else str(value) for value in rows[1]]
    assert texts == list(csv.reader(io.StringIO(written["csv"].decode())))[2]
