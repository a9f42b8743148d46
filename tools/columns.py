"""Write the columns of frozen values for the store: `python -m tools.columns [--check]`."""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from itertools import chain
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import AwareDatetime, BaseModel
from pydantic.fields import FieldInfo

from analysis.results.source import text
from orchestrator.store.schema.sources import Origin, Run
from orchestrator.store.schema.tables import COLUMNS_FILE
from orchestrator.system.docstrings import attribute_docs
from runner.contract.record.ranges import ENDING_DOCS, Range
from runner.contract.record.record import Record

SQL_TYPES: Mapping[Any, str] = {
    str: "VARCHAR",
    int: "BIGINT",
    float: "DOUBLE",
    bool: "BOOLEAN",
    AwareDatetime: "TIMESTAMPTZ",
}
_VALUES: Mapping[str, type[BaseModel]] = {"record": Record, "origin": Origin, "run": Run}


def columns_json() -> str:
    """The file, one column a line."""
    tables = (
        f'"{name}": [\n' + ",\n".join(map(json.dumps, model_columns(value))) + "\n]"
        for name, value in _VALUES.items()
    )
    return "{\n" + ",\n".join(tables) + "\n}\n"


def model_columns(value: type[BaseModel]) -> Iterator[dict[str, Any]]:
    """One column for each field of a frozen value, without what a column has anyway."""
    docs = column_docs(value)
    for name, info in value.model_fields.items():
        facts = {"name": name, **_type(info.annotation), **_range(info)}
        yield {**facts, "doc": docs[name], **_default(info)}


def column_docs(value: type[BaseModel]) -> dict[str, str]:
    """The docstring of each field, or what the end of its name means."""
    docs = {
        name: doc
        for name in value.model_fields
        for end, doc in ENDING_DOCS.items()
        if name.endswith(end)
    }
    return docs | dict(attribute_docs(value))


def _type(annotation: Any) -> dict[str, Any]:
    members = get_args(annotation)
    if nullable := NoneType in members:
        (annotation,) = (member for member in members if member is not NoneType)
    facts = {"type": sql_type(annotation), "nullable": nullable}
    return {**facts, "allowed": get_args(annotation)} if _is_literal(annotation) else facts


def _range(info: FieldInfo) -> dict[str, str]:
    """The range of a number, which pydantic keeps at the field or in its annotation."""
    parts = (getattr(part, "__metadata__", ()) for part in get_args(info.annotation))
    known = [fact for fact in chain(info.metadata, *parts) if isinstance(fact, Range)]
    return {"range": known[0].name} if known else {}


def _default(info: FieldInfo) -> dict[str, str]:
    if isinstance(info.default, str):
        return {"default": text(info.default)}
    return {"default": str(info.default).lower()} if isinstance(info.default, bool) else {}


def _is_literal(annotation: Any) -> bool:
    return get_origin(annotation) is Literal


def sql_type(annotation: Any) -> str:
    """DuckDB's type for a field's annotation."""
    if annotation in SQL_TYPES:
        return SQL_TYPES[annotation]
    if is_dataclass(annotation):
        fields = get_type_hints(annotation).items()
        columns = (f'"{name}" {sql_type(inner)}' for name, inner in fields)
        return f"STRUCT({', '.join(columns)})"
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return "VARCHAR"
    if origin in {dict, Mapping}:
        return f"MAP({sql_type(arguments[0])}, {sql_type(arguments[1])})"
    inner = sql_type(arguments[0])
    return f"{inner}[]" if origin in {list, tuple} else inner


def main() -> int:
    """Write the file, or check it with `--check`."""
    content = columns_json()
    if "--check" not in sys.argv[1:]:
        COLUMNS_FILE.write_text(content, "utf-8")
        return 0
    if COLUMNS_FILE.read_text("utf-8") == content:
        return 0
    sys.stderr.write(f"{COLUMNS_FILE.name} is stale: run `make schemas` and commit it\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
