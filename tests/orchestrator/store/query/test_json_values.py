"""Whatever Arrow holds becomes something that JSON can hold."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from orchestrator.store import query
from orchestrator.store.query.values import json_rows, json_values, to_json


def plain(sql: str, database: Path) -> Any:
    """The one value that this answers."""
    (batch,) = query(database, f"SELECT {sql} AS value").to_batches()
    ((value,),) = json_rows(batch)
    return value


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("NULL", None),
        ("true", True),
        ("12", 12),
        ("170141183460469231731687303715884105727::HUGEINT", 2**127 - 1),
        ("sum(1::BIGINT)", 1),
        ("1.50::DECIMAL(4, 2)", "1.50"),
        ("1.5::DOUBLE", 1.5),
        ("'NaN'::DOUBLE", None),
        ("'-Infinity'::DOUBLE", None),
        ("'ü|\n'", "ü|\n"),
        ("'a'::ENUM ('a', 'b')", "a"),
        ("DATE '2026-11-21'", "2026-11-21"),
        ("TIME '10:00:01.5'", "10:00:01.500000"),
        ("TIMESTAMP '2026-11-21 10:00:00'", "2026-11-21T10:00:00"),
        ("TIMESTAMPTZ '2026-11-21 10:00:00+02'", "2026-11-21T08:00:00+00:00"),
        ("TIMESTAMP_NS '2026-11-21 10:00:00.123456789'", "2026-11-21T10:00:00.123456789"),
        ("'\\xFFa'::BLOB", "ff61"),
        ("uuid '12345678-1234-5678-1234-567812345678'", "12345678-1234-5678-1234-567812345678"),
        ("[1, NULL, 3]", [1, None, 3]),
        ("['NaN'::DOUBLE, 1]", [None, 1.0]),
        ("[]::INT[]", []),
        ("[1, 2]::INT[2]", [1, 2]),
        ("MAP {'b': 1, 'a': NULL}", {"b": 1, "a": None}),
        ("MAP {}::MAP(VARCHAR, INT)", {}),
        ("MAP {1: [DATE '2026-11-21']}", {"1": ["2026-11-21"]}),
        ("MAP {[1, 2]: 3}", {"[1, 2]": 3}),
        ("{'a': NULL, 'b': {'c': 'NaN'::DOUBLE}, 'd': 1}", {"a": None, "b": {"c": None}, "d": 1}),
        ("[MAP {'a': 1.5::DECIMAL(4, 2)}]", [{"a": "1.50"}]),
        ("union_value(k := 1)", "1"),
    ],
)
def test_a_value_becomes_plain(empty: Path, sql: str, value: object) -> None:
    found = plain(sql, empty)
    assert (found, type(found)) == (value, type(value))
    to_json(found)


def test_a_decimal_of_arrow_alone() -> None:
    column = pa.array([Decimal("1.00"), None], pa.decimal128(5, 2))
    assert json_values(column) == ["1.00", None]
