"""Formats of answers that other programs read: CSV, JSON, Markdown, Parquet, batch by batch."""

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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

Parts = Sequence[tuple[str, str]]
_AS_TEXT = frozenset(
    {"bignum", "bit", "geometry", "interval", "time with time zone", "uhugeint", "union", "variant"}
)
"""Arrow gives them as DuckDB's bytes, loses a part, or has what Parquet refuses."""


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
    if type_.id in _AS_TEXT:
        return "VARCHAR"
    if type_.id not in _NESTED:
        return None
    parts = [(name, part) for name, part in type_.children if isinstance(part, DuckDBPyType)]
    casts = [(name, _target(part)) for name, part in parts]
    if not any(cast for _, cast in casts):
        return None
    targets = [
        (name, cast or str(part)) for (name, cast), (_, part) in zip(casts, parts, strict=True)
    ]
    return _NESTED[type_.id](targets, type_)


def _struct(parts: Parts, _: DuckDBPyType) -> str:
    return f"STRUCT({', '.join(f'{identifier(name)} {cast}' for name, cast in parts)})"


def _unnamed(parts: Parts, type_: DuckDBPyType) -> str:
    return f"{type_.id}({', '.join(cast for _, cast in parts)})"


def _list(parts: Parts, _: DuckDBPyType) -> str:
    return f"{parts[0][1]}[]"


def _array(parts: Parts, type_: DuckDBPyType) -> str:
    return f"{parts[0][1]}[{dict(type_.children)['size']}]"


_NESTED: Mapping[str, Callable[[Parts, DuckDBPyType], str]] = {
    "array": _array,
    "list": _list,
    "map": _unnamed,
    "struct": _struct,
    "tuple": _unnamed,
}
"""A nested type of these parts, each with its name."""


Convert = Callable[[Any], Any]
_OUT_OF_RANGE = "out of range"
_NO_FRACTION = re.compile(r"\.0+$")


def json_rows(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    """The batch's rows; a map becomes a dict, a number that is not finite null."""
    return zip(*map(json_values, batch.columns), strict=True)


def json_values(column: pa.Array) -> list[Any]:
    """A column's values, likewise."""
    type_ = column.type
    if types.is_dictionary(type_):
        return json_values(column.dictionary_decode())
    if types.is_nested(type_):
        return _nested_values(column)
    if types.is_floating(type_):
        return _converted(_finite, float_values(column))
    if types.is_temporal(type_) and not types.is_duration(type_):
        return _converted(_time_format(type_), _as_text(column))
    return _converted(_scalar_format(type_), column.to_pylist())


def float_values(column: pa.Array) -> list[float | None]:
    """Numbers as they are; one of 32 bits has its own digits, not those nearest to it in 64."""
    if types.is_float32(column.type):
        column = column.cast(pa.string()).cast(pa.float64())
    return list(column.to_pylist())


def to_json(value: Any) -> str:
    """A value of these as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _nested_values(column: pa.Array) -> list[Any]:
    if types.is_struct(column.type):
        return _structs(column)
    if types.is_fixed_size_list(column.type):
        column = column.cast(pa.list_(column.type.value_field))
    if types.is_map(column.type):
        keys = map(_key, json_values(column.keys))
        return _cut(column, list(zip(keys, json_values(column.items), strict=True)), dict)
    return _cut(column, json_values(column.values), list)


def _cut(column: pa.Array, values: Sequence[Any], make: Convert) -> list[Any]:
    """The lists or maps of a column, given the values of all of them in one row."""
    offsets = column.offsets.to_pylist()
    bounds = zip(offsets, offsets[1:], column.is_valid().to_pylist(), strict=False)
    return [make(values[start:end]) if valid else None for start, end, valid in bounds]


def _structs(column: pa.Array) -> list[dict[str, Any] | None]:
    names = [field.name for field in column.type]
    rows = zip(*map(json_values, column.flatten()), strict=True)
    valid = column.is_valid().to_pylist()
    return [
        dict(zip(names, row, strict=True)) if exists else None
        for row, exists in zip(rows, valid, strict=True)
    ]


def _converted(convert: Convert | None, values: list[Any]) -> list[Any]:
    if convert is None:
        return values
    return [None if value is None else convert(value) for value in values]


def _key(key: Any) -> str:
    return key if isinstance(key, str) else to_json(key)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


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


def _as_text(column: pa.Array) -> list[str | None]:
    if types.is_timestamp(column.type):
        column = column.cast(pa.timestamp(column.type.unit))  # UTC
    return list(column.cast(pa.string()).to_pylist())


def _time_format(type_: pa.DataType) -> Convert:
    if types.is_date(type_):
        return _date
    if types.is_time(type_):
        return _time
    return _moment if type_.tz is None else _moment_in_utc


def _date(text: str) -> str:
    """Arrow calls DuckDB's infinite dates out of range."""
    if _OUT_OF_RANGE in text:
        return "-infinity" if "-" in text else "infinity"
    return text


def _moment(text: str) -> str:
    return _NO_FRACTION.sub("", _date(text)).replace(" ", "T")


def _moment_in_utc(text: str) -> str:
    moment = _moment(text)
    return moment if moment.endswith("infinity") else f"{moment}+00:00"


def _time(text: str) -> str:
    """The one time of DuckDB that Arrow lacks is the end of the day."""
    return "24:00:00" if _OUT_OF_RANGE in text else _NO_FRACTION.sub("", text)


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
    """Write an answer to a file, whole or not at all."""
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
