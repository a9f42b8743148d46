"""Types that Arrow and Parquet carry; values of others come as DuckDB's own text."""

from collections.abc import Callable, Mapping, Sequence

from duckdb import DuckDBPyRelation
from duckdb.sqltypes import DuckDBPyType

from orchestrator.store.schema.shapes import identifier

Parts = Sequence[tuple[str, str]]
STRANGE = frozenset(
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


def carried(relation: DuckDBPyRelation) -> DuckDBPyRelation:
    """The same answer, in which no column and no part of one is of such a type."""
    targets = [_carried(type_) for type_ in relation.types]
    if not any(targets):
        return relation
    columns = (
        f"CAST(#{place} AS {target}) AS {identifier(name)}" if target else f"#{place}"
        for place, (name, target) in enumerate(zip(relation.columns, targets, strict=True), start=1)
    )
    return relation.project(", ".join(columns))


def _carried(type_: DuckDBPyType) -> str | None:
    """What such a value is cast to; None if it is carried as it is."""
    if type_.id in STRANGE:
        return "VARCHAR"
    if type_.id not in _NESTED:
        return None
    parts = [(name, part) for name, part in type_.children if isinstance(part, DuckDBPyType)]
    casts = [(name, _carried(part)) for name, part in parts]
    if not any(cast for _, cast in casts):
        return None
    told = [(name, cast or str(part)) for (name, cast), (_, part) in zip(casts, parts, strict=True)]
    return _NESTED[type_.id](told, type_)


def _fields(parts: Parts, _: DuckDBPyType) -> str:
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
    "struct": _fields,
    "tuple": _unnamed,
}
"""A nested type of these parts, each with its name."""
