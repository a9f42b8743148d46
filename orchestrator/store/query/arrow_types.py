"""Types of DuckDB that Arrow or Parquet lack, cast to text."""

from collections.abc import Callable, Mapping, Sequence

from duckdb import DuckDBPyRelation
from duckdb.sqltypes import DuckDBPyType

from orchestrator.store.schema.parquet_columns import identifier

Parts = Sequence[tuple[str, str]]
_AS_TEXT = frozenset(
    {
        "bignum",
        "bit",
        "geometry",
        "interval",
        "time with time zone",
        "uhugeint",
        "union",
        "variant",
    }
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
