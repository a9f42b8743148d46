"""Formats of answers that other programs read: CSV, JSON, Markdown, Parquet, batch by batch."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import isfinite
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
from duckdb import DuckDBPyRelation
from duckdb.sqltypes import DuckDBPyType
from pyarrow import types

from orchestrator.screen.sheet import markdown_row, markdown_text
from orchestrator.store.query.answer import Answer
from orchestrator.store.schema.parquet_columns import identifier
from orchestrator.system.files import output_file

_AS_TEXT = frozenset(
    {"bignum", "bit", "geometry", "interval", "time with time zone", "uhugeint", "union", "variant"}
)
"""Arrow gives them as DuckDB's bytes, loses a part, or has what Parquet refuses."""
_NESTED = frozenset({"array", "list", "map", "struct", "tuple"})


def cast_for_arrow(relation: DuckDBPyRelation) -> DuckDBPyRelation:
    """The same rows, in which no column and no part of one is of such a type."""
    targets = [_target(type_) for type_ in relation.types]
    if not any(targets):
        return relation
    columns = (
        f"CAST(#{number} AS {target}) AS {identifier(name)}" if target else f"#{number}"
        for number, (name, target) in enumerate(zip(relation.columns, targets, strict=True), 1)
    )
    return relation.project(", ".join(columns))


def _target(type_: DuckDBPyType) -> str | None:
    """The type that such a value is cast to; None if Arrow has its own."""
    if type_.id not in _NESTED:
        return "VARCHAR" if type_.id in _AS_TEXT else None
    parts = [(name, part) for name, part in type_.children if isinstance(part, DuckDBPyType)]
    casts = [_target(part) for _, part in parts]
    if not any(casts):
        return None
    targets = [cast or str(part) for cast, (_, part) in zip(casts, parts, strict=True)]
    match type_.id:
        case "array":
            return f"{targets[0]}[{dict(type_.children)['size']}]"
        case "list":
            return f"{targets[0]}[]"
        case "struct":
            names = (identifier(name) for name, _ in parts)
            return f"STRUCT({', '.join(map(' '.join, zip(names, targets, strict=True)))})"
    return f"{type_.id}({', '.join(targets)})"


Convert = Callable[[Any], Any]
_OUT_OF_RANGE = "out of range"
_NO_FRACTION = re.compile(r"\.0+$")


def json_rows(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    """The batch's rows; a map becomes a dict, a number that is not finite null."""
    return zip(*map(json_values, batch.columns), strict=True)


def json_values(column: pa.Array) -> list[Any]:
    type_ = column.type
    if types.is_dictionary(type_):
        return json_values(column.dictionary_decode())
    if types.is_nested(type_):
        return _nested_values(column)
    if types.is_floating(type_):
        numbers = float_values(column)
        return [None if number is None or not isfinite(number) else number for number in numbers]
    if types.is_temporal(type_) and not types.is_duration(type_):
        if types.is_timestamp(type_):
            column = column.cast(pa.timestamp(type_.unit))  # UTC
        return _converted(_time_format(type_), column.cast(pa.string()).to_pylist())
    return _converted(_scalar_format(type_), column.to_pylist())


def float_values(column: pa.Array) -> list[float | None]:
    """Numbers as they are; one of 32 bits has its own digits, not those nearest to it in 64."""
    if types.is_float32(column.type):
        column = column.cast(pa.string()).cast(pa.float64())
    return list(column.to_pylist())


def to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _nested_values(column: pa.Array) -> list[Any]:
    valid = column.is_valid().to_pylist()
    if types.is_struct(column.type):
        names = [field.name for field in column.type]
        rows = zip(*map(json_values, column.flatten()), strict=True)
        structs = (dict(zip(names, row, strict=True)) for row in rows)
        return [struct if exists else None for struct, exists in zip(structs, valid, strict=True)]
    if types.is_fixed_size_list(column.type):
        column = column.cast(pa.list_(column.type.value_field))
    offsets = column.offsets.to_pylist()
    bounds = zip(offsets, offsets[1:], valid, strict=False)
    if types.is_map(column.type):
        keys = (key if isinstance(key, str) else to_json(key) for key in json_values(column.keys))
        pairs = list(zip(keys, json_values(column.items), strict=True))
        return [dict(pairs[start:end]) if exists else None for start, end, exists in bounds]
    values = json_values(column.values)
    return [values[start:end] if exists else None for start, end, exists in bounds]


def _converted(convert: Convert | None, values: list[Any]) -> list[Any]:
    if convert is None:
        return values
    return [None if value is None else convert(value) for value in values]


def _scalar_format(type_: pa.DataType) -> Convert | None:
    """The conversion of other values; None if they are plain already."""
    if types.is_decimal(type_):
        return str if type_.scale > 0 else int
    if types.is_binary(type_) or types.is_large_binary(type_):
        return bytes.hex
    plain = (types.is_null, types.is_boolean, types.is_integer, types.is_string)
    if any(matches(type_) for matches in (*plain, types.is_large_string)):
        return None
    return str


def _time_format(type_: pa.DataType) -> Convert:
    if types.is_date(type_):
        return _date
    if types.is_time(type_):
        # The one time of DuckDB that Arrow lacks is the end of the day.
        return lambda text: "24:00:00" if _OUT_OF_RANGE in text else _NO_FRACTION.sub("", text)
    return partial(_moment, zone="" if type_.tz is None else "+00:00")


def _date(text: str) -> str:
    """Arrow calls DuckDB's infinite dates out of range."""
    if _OUT_OF_RANGE in text:
        return "-infinity" if "-" in text else "infinity"
    return text


def _moment(text: str, zone: str) -> str:
    moment = _NO_FRACTION.sub("", _date(text)).replace(" ", "T")
    return moment if moment.endswith("infinity") else f"{moment}{zone}"


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
    numeric = (types.is_integer, types.is_floating, types.is_decimal)
    rules = [
        "---:" if any(matches(field.type) for matches in numeric) else "---" for field in fields
    ]
    file.write(markdown_row(map(markdown_text, answer.schema.names)).encode())
    file.write(markdown_row(rules).encode())
    for batch in answer.batches:
        for row in text_rows(batch):
            cells = ("" if value is None else markdown_text(str(value)) for value in row)
            file.write(markdown_row(cells).encode())


def write_parquet(answer: Answer, file: IO[bytes]) -> None:
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
    with output_file(path) as file:
        WRITERS[form](answer, file)


def _write_csv_rows(file: IO[bytes], rows: Any) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    file.write(text.getvalue().encode())
