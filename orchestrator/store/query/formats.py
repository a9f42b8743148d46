"""Formats of answers that other programs read: CSV, JSON, Markdown, Parquet, batch by batch."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
from pyarrow import types

from orchestrator.screen.markdown import markdown_row, markdown_text
from orchestrator.store.query.answer import Answer
from orchestrator.store.query.values import float_values, json_rows, json_values, to_json
from orchestrator.system.files import output_file

Write = Callable[[Answer, IO[bytes]], None]


def write_csv(answer: Answer, file: IO[bytes]) -> None:
    """Write CSV with a header; lists and maps as JSON, null as an empty field."""
    _write_csv_rows(file, [answer.schema.names])
    for batch in answer.batches:
        _write_csv_rows(file, text_rows(batch))


def write_json(answer: Answer, file: IO[bytes]) -> None:
    """Write a JSON list, one object a row and line; a number that is not finite becomes null."""
    names, between = answer.schema.names, "[\n"
    for batch in answer.batches:
        text = io.StringIO()
        for row in json_rows(batch):
            text.write(f"{between}  {to_json(dict(zip(names, row, strict=True)))}")
            between = ",\n"
        file.write(text.getvalue().encode())
    file.write(b"[]\n" if between == "[\n" else b"\n]\n")


def write_markdown(answer: Answer, file: IO[bytes]) -> None:
    """Write a table of GitHub's Markdown, every value as it is; null as an empty field."""
    fields = list(answer.schema)
    rules = ["---:" if _is_number(field.type) else "---" for field in fields]
    file.write(markdown_row(map(markdown_text, answer.schema.names)).encode())
    file.write(markdown_row(rules).encode())
    for batch in answer.batches:
        rows = (map(_markdown_value, row) for row in text_rows(batch))
        text = "".join(map(markdown_row, rows))
        file.write(text.encode())


def write_parquet(answer: Answer, file: IO[bytes]) -> None:
    """Write compressed Parquet, types as they are."""
    from pyarrow.parquet import ParquetWriter

    with ParquetWriter(file, answer.schema, compression="zstd") as writer:
        for batch in answer.batches:
            writer.write_batch(batch)


WRITERS: Mapping[str, Write] = {
    "csv": write_csv,
    "json": write_json,
    "markdown": write_markdown,
    "parquet": write_parquet,
}
SUFFIXES: Mapping[str, str] = {
    ".csv": "csv",
    ".json": "json",
    ".markdown": "markdown",
    ".md": "markdown",
    ".parquet": "parquet",
}
"""The format that a file's name asks for."""


def text_rows(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    """The batch's rows for people: lists and maps as JSON, numbers as they are."""
    return zip(*map(_text_values, batch.columns), strict=True)


def _text_values(column: pa.Array) -> list[Any]:
    if types.is_floating(column.type):
        return float_values(column)
    values = json_values(column)
    if types.is_boolean(column.type) or types.is_nested(column.type):
        return [None if value is None else to_json(value) for value in values]
    return values


def save_answer(answer: Answer, form: str, path: Path) -> None:
    """Write an answer to a file, whole or not at all.

    Raises:
        StoreError: the file system refused.
    """
    with output_file(path) as file:
        WRITERS[form](answer, file)


def _write_csv_rows(file: IO[bytes], rows: Any) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    file.write(text.getvalue().encode())


def _is_number(type_: pa.DataType) -> bool:
    return bool(types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_))


def _markdown_value(value: object) -> str:
    return "" if value is None else markdown_text(str(value))
