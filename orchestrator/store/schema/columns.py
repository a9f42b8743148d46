"""Columns of the database, derived from the fields of frozen values and their docstrings."""

from collections.abc import Iterable
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import AwareDatetime, BaseModel

SQL_TYPES: dict[Any, str] = {
    str: "VARCHAR",
    int: "BIGINT",
    float: "DOUBLE",
    bool: "BOOLEAN",
    AwareDatetime: "TIMESTAMPTZ",
}


@dataclass(frozen=True)
class SqlColumn:
    """One column of a table."""

    name: str
    type: str
    """DuckDB's name of the type."""
    doc: str
    """Its meaning with its unit; becomes the column's comment."""
    nullable: bool = True
    """True if it may be null, which says `not known`."""
    allowed: tuple[str, ...] = ()
    """The values it may take; empty when there is no such list."""
    compression: str | None = None
    """DuckDB's compression of it; None leaves the choice to DuckDB."""

    @property
    def definition(self) -> str:
        """The column as `CREATE TABLE` wants it."""
        compression = f" USING COMPRESSION {self.compression}" if self.compression else ""
        return f"{self.name} {self.type}{compression}" + ("" if self.nullable else " NOT NULL")


def model_columns(value: type[BaseModel]) -> tuple[SqlColumn, ...]:
    """One column for each field of a frozen value."""
    return tuple(
        _column(name, info.annotation, info.description or "")
        for name, info in value.model_fields.items()
    )


def names(columns: Iterable[SqlColumn]) -> str:
    """The columns' names as a list for SQL."""
    return ", ".join(column.name for column in columns)


def text(value: str) -> str:
    """A value as a string literal for SQL."""
    return "'" + value.replace("'", "''") + "'"


def _column(name: str, annotation: Any, doc: str) -> SqlColumn:
    members = get_args(annotation)
    nullable = NoneType in members
    if nullable:
        (annotation,) = (member for member in members if member is not NoneType)
    allowed = get_args(annotation) if get_origin(annotation) is Literal else ()
    return SqlColumn(name, sql_type(annotation), doc, nullable, allowed)


def sql_type(annotation: Any) -> str:
    """DuckDB's type for a field's annotation."""
    if annotation in SQL_TYPES:
        return SQL_TYPES[annotation]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return sql_type(arguments[0])
    if origin is Literal:
        return "VARCHAR"
    if origin in {list, tuple}:
        return f"{sql_type(arguments[0])}[]"
    if origin is dict:
        return f"MAP({sql_type(arguments[0])}, {sql_type(arguments[1])})"
    raise TypeError(f"no column type for {annotation}")
