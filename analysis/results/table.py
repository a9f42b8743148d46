"""Tables as values: rows, and fields with their unit and words, for screens, files and pages."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from analysis.statistics.numbers import change_text, format_number

FieldKind = Literal["word", "id", "number", "share", "change", "moment", "prose", "grade"]
RowFacts = Mapping[str, Any]
_NUMBERS: frozenset[FieldKind] = frozenset({"number", "share", "change"})
_MISSING = "–"


@dataclass(frozen=True)
class Field:
    """A column: its name in files, its heading for people, and how it gives way to others."""

    name: str
    """The key in rows, in CSV and in JSON."""
    heading: str | None = None
    """For people, with the unit; None if that is the name."""
    kind: FieldKind = "word"
    """A `share` is shown in percent, the ratio of a `change` as percent more or less."""
    low: str | None = None
    """The key of the 95 % interval's low end; None without an interval."""
    high: str | None = None
    measured: bool = False
    """True if a measurement stands behind each value, whose details a page can show."""
    essential: bool = False
    """True if no terminal is too narrow for it."""
    wraps: bool = False
    """True if its texts may take several lines, broken at blanks, and ids after their hyphens."""
    right: bool = False
    """True if its texts stand right, as those of numbers do: sizes and durations with a unit."""
    hidden: bool = False
    """True if files alone have it."""
    shown: Callable[[Any], object] | None = None
    """The value as people see it, from the one that files hold."""

    @property
    def title(self) -> str:
        return self.name if self.heading is None else self.heading

    @property
    def stands_right(self) -> bool:
        return self.right or self.kind in _NUMBERS

    def value(self, row: RowFacts) -> Any:
        value = row.get(self.name)
        return self.shown(value) if self.shown else value

    def text(self, row: RowFacts) -> str:
        """The same in words; its interval stands behind it, unless details show that."""
        value = self.value(row)
        ends = (row.get(self.low or ""), row.get(self.high or ""))
        if self.measured or value is None or None in ends:
            return self._plain(value)
        if self.kind == "change":
            return change_text(value, *ends)
        low, high = map(self._plain, ends)
        return f"{self._plain(value)} ({low.removesuffix(' %')} to {high})"

    def _plain(self, value: Any) -> str:
        if value is not None and self.kind == "change":
            return change_text(value)
        if value is not None and self.kind == "share":
            return f"{value_text(100.0 * value)} %"
        return value_text(value)


@dataclass(frozen=True)
class Table:
    """Rows under fields, with what is said above and below them."""

    title: str
    fields: Sequence[Field]
    rows: Sequence[RowFacts]
    notes: Sequence[str] = ()
    name: str = ""
    answers: Sequence[str] = ()
    """Sentences above it: what its rows show, as far as the measurements support it."""
    left_out: int = 0
    """Rows beyond those that are there."""
    is_list: bool = True
    """True if people search and sort its rows; False for facts side by side."""

    @property
    def columns(self) -> list[Field]:
        return [field for field in self.fields if not field.hidden]

    def filled(self) -> "Table":
        """The same without fields of which no row has a value."""
        filled = {name for row in self.rows for name in row if row[name] not in (None, "", ())}
        return replace(self, fields=[field for field in self.fields if field.name in filled])


def table_of(columns: Iterable[str | Field], lines: Iterable[Sequence[object]]) -> Table:
    """A table of lines; a heading alone stands for an essential field."""
    named = [Field(item, essential=True) if isinstance(item, str) else item for item in columns]
    fields = [replace(field, name=f"{n}", heading=field.title) for n, field in enumerate(named)]
    names = [field.name for field in fields]
    return Table("", fields, [dict(zip(names, line, strict=True)) for line in lines])


def wrapping(*headings: str) -> tuple[Field, ...]:
    """Fields of prose, ids or paths, none of which is left out."""
    return tuple(Field(heading, essential=True, wraps=True) for heading in headings)


def is_number(value: object) -> bool:
    """True for what people add up and sort by size."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def value_text(value: object) -> str:
    """A value in words: a dash for none, `yes`, `1,234`, `0.0123`, `2026-11-22 16:52`."""
    match value:
        case None:
            return _MISSING
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return format_number(value)
        case datetime():
            return f"{value.astimezone(UTC):%Y-%m-%d %H:%M}"
        case _:
            return str(value)
