"""A CSV becomes rows that know their lines."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from orchestrator.exchange.imports.document import (
    TableRow,
    column_names,
    parse_boolean,
    parse_time,
    rows_of,
)
from runner.contract.errors import DamagedFile
from tests.orchestrator.exchange.imports.documents import text_document


def test_rows_know_their_lines() -> None:
    document = text_document('\ufeffmodel, ms\r\n"a,b",1\r\n\r\n,\r\nc,2\r\n')
    assert column_names(document) == ["model", "ms"]
    assert list(rows_of(document)) == [
        TableRow("line 2", {"model": "a,b", "ms": "1"}),
        TableRow("line 5", {"model": "c", "ms": "2"}),
    ]


def test_another_delimiter_is_taken() -> None:
    rows = list(rows_of(text_document("model;ms\na;1,5\n"), ";"))
    assert rows == [TableRow("line 2", {"model": "a", "ms": "1,5"})]


def test_a_row_of_another_length_is_a_fault() -> None:
    (whole, cut) = rows_of(text_document("model,ms\na,1\nb\n"))
    assert whole.fault is None
    assert cut.fault == "line 3: 1 fields stand under 2 columns"


def test_a_column_twice_is_refused() -> None:
    with pytest.raises(DamagedFile, match="line 1: the column 'ms' appears twice"):
        list(rows_of(text_document("ms,model,ms\n1,a,2\n")))


def test_what_is_no_csv_is_refused_with_its_line() -> None:
    document = text_document("model\na\n" + "x" * 200_000)
    with pytest.raises(DamagedFile, match="line 3: not CSV: field larger than field limit"):
        list(rows_of(document))
    assert column_names(text_document("x" * 200_000)) == []


@pytest.mark.parametrize(
    ("value", "truth"),
    [(True, True), ("True", True), (1, True), ("no", False), (0, False), (None, None)],
)
def test_yes_and_no(value: object, truth: bool | None) -> None:
    assert parse_boolean(value) is truth


@pytest.mark.parametrize("value", ["perhaps", 2, 1.0, [], {}])
def test_neither_yes_nor_no(value: object) -> None:
    with pytest.raises(ValueError, match="neither true nor false"):
        parse_boolean(value)


@pytest.mark.parametrize(
    ("text", "moment", "told"),
    [
        (" 2025-03-06T17:45:26 ", datetime(2025, 3, 6, 17, 45, 26, tzinfo=UTC), False),
        (
            "2025-03-06T17:45:26+02:00",
            datetime(2025, 3, 6, 17, 45, 26, tzinfo=timezone(timedelta(hours=2))),
            True,
        ),
    ],
)
def test_a_time_without_a_zone_is_utc(text: str, moment: datetime, told: bool) -> None:
    assert parse_time(text) == (moment, told)


def test_other_text_is_no_time() -> None:
    with pytest.raises(ValueError, match="yesterday"):
        parse_time("yesterday")
