"""Answers as other programs read them: each format gives back what was asked."""

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from orchestrator.store.query.ask import asking
from orchestrator.store.query.formats import WRITERS, save_answer
from runner.contract.errors import UsageError

MANY = "SELECT i, 'row ' || i AS name FROM range(150000) AS t(i)"
AWKWARD = """
    SELECT 'a|b' AS "pipe|name", 'two
lines' AS newline, 'NaN'::DOUBLE AS nan, NULL AS nothing, '' AS empty, true AS yes,
        [1.5::DOUBLE, NULL] AS list, MAP {'k|1': 'v'} AS map, {'x': 'ü'} AS struct,
        TIMESTAMPTZ '2026-11-21 12:00:00+00' AS moment, '*bold* <b> _x_ a_b `c` \\ &amp;' AS markup
"""


def written(database: Path, sql: str, form: str) -> bytes:
    file = io.BytesIO()
    with asking(database, sql) as answer:
        WRITERS[form](answer, file)
    return file.getvalue()


def as_text(database: Path, sql: str, form: str) -> str:
    return written(database, sql, form).decode()


def test_csv_reads_back(filled: Path) -> None:
    columns = "cell_id, latency_p90_s, grade_reasons, libraries, recorded_at, correct"
    sql = f"SELECT {columns} FROM benchmark_results LEFT JOIN environments USING (environment_id)"
    lines = list(csv.DictReader(io.StringIO(as_text(filled, f"{sql} ORDER BY batch_size", "csv"))))
    assert lines[1] == {
        "cell_id": "cpu-bert-tiny-fp32-b8-s128-inference",
        "latency_p90_s": "",
        "grade_reasons": '["cv 12 %: measure longer, on a quieter machine"]',
        "libraries": '{"torch": "2.13.0", "transformers": "5.0.0"}',
        "recorded_at": "2026-11-21T12:00:00+00:00",
        "correct": "true",
    }


def test_csv_of_what_is_awkward_is_read_by_others_as_it_was(filled: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(written(filled, AWKWARD, "csv"))
    with duckdb.connect() as connection:
        (row,) = connection.execute(
            f"SELECT newline, isnan(nan), nothing, yes, list, map, epoch(moment) FROM '{path}'"
        ).fetchall()
    assert row[:4] == ("two\nlines", True, None, True)
    assert (row[4], json.loads(row[5])) == ("[1.5, null]", {"k|1": "v"})
    assert row[6] == datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp()


def test_json_holds_what_json_can_hold(filled: Path) -> None:
    (row,) = json.loads(as_text(filled, AWKWARD, "json"))
    assert (row["nan"], row["nothing"], row["empty"], row["yes"]) == (None, None, "", True)
    assert (row["list"], row["map"], row["struct"]) == ([1.5, None], {"k|1": "v"}, {"x": "ü"})
    assert row["moment"] == "2026-11-21T12:00:00+00:00"


def test_json_has_a_row_on_each_line(filled: Path) -> None:
    text = as_text(filled, "SELECT * FROM range(3) AS t(i)", "json")
    assert text == '[\n  {"i": 0},\n  {"i": 1},\n  {"i": 2}\n]\n'


def test_markdown_is_a_table_whatever_is_in_it(filled: Path) -> None:
    lines = as_text(filled, AWKWARD, "markdown").splitlines()
    assert len(lines) == 3
    assert lines[0].startswith(r"| pipe\|name | newline |")
    assert lines[1].startswith("| --- | --- | ---: | --- |")
    told = lines[2]
    assert told.startswith(r"| a\|b | two<br>lines | nan |  |  | true | \[1.5, null\] |")
    assert r'{"k\|1": "v"}' in told
    assert told.endswith(
        r"| 2026-11-21T12:00:00+00:00 | \*bold\* \<b> \_x\_ a_b \`c\` \\ &amp;amp; |"
    )


def test_numbers_stand_on_the_right_in_markdown(filled: Path) -> None:
    text = as_text(filled, "SELECT 1 AS a, 1.5 AS b, 2.5::DOUBLE AS c, 'x' AS d", "markdown")
    assert text == "| a | b | c | d |\n| ---: | ---: | ---: | --- |\n| 1 | 1.5 | 2.5 | x |\n"


def test_parquet_keeps_types(filled: Path) -> None:
    table = pq.read_table(io.BytesIO(written(filled, AWKWARD, "parquet")))
    types = {field.name: str(field.type) for field in table.schema}
    assert types["moment"] == "timestamp[us, tz=UTC]"
    assert types["map"].startswith("map<string, string")
    assert table.column("list").to_pylist() == [[1.5, None]]


@pytest.mark.parametrize("form", WRITERS)
def test_other_programs_get_the_bytes_but_a_table_is_one(filled: Path, form: str) -> None:
    content = written(filled, "SELECT chr(27) || '[2J' AS \"a\nb\"", form)
    assert (b"\x1b[2J" in content) is (form in {"csv", "parquet"})
    if form == "markdown":
        assert content.decode().splitlines()[::2] == ["| a<br>b |", r"| \\u001b\[2J |"]
    if form == "json":
        assert json.loads(content) == [{"a\nb": "\x1b[2J"}]


READ: dict[str, Any] = {
    "csv": lambda content: len(content.splitlines()) - 1,
    "json": lambda content: len(json.loads(content)),
    "markdown": lambda content: len(content.splitlines()) - 2,
    "parquet": lambda content: pq.read_metadata(io.BytesIO(content)).num_rows,
}


@pytest.mark.parametrize(
    "form", ["csv", *(pytest.param(form, marks=pytest.mark.slow) for form in READ if form != "csv")]
)
def test_more_rows_than_a_batch_are_all_written(filled: Path, form: str) -> None:
    assert READ[form](written(filled, MANY, form)) == 150_000


@pytest.mark.parametrize("form", READ)
def test_an_empty_answer_still_has_its_columns(filled: Path, form: str) -> None:
    content = written(filled, "SELECT model, hardware FROM benchmark_performance WHERE false", form)
    assert READ[form](content) == 0
    if form != "json":
        assert b"hardware" in content


def test_a_file_is_written_whole_or_not_at_all(filled: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    broken = "SELECT CASE WHEN i > 100000 THEN 'x' ELSE '1' END::INT AS i FROM range(200000) t(i)"
    with (
        asking(filled, broken) as answer,
        pytest.raises(UsageError, match=r"the query failed: .*Could not convert"),
    ):
        save_answer(answer, "csv", path)
    assert not path.exists()
    with asking(filled, "SELECT 1 AS a") as answer:
        save_answer(answer, "csv", path)
    assert path.read_text() == "a\n1\n"
