"""Parquet files of a few kilobytes that would take all memory, made from a sound record."""

from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

VALUES = 100_000_000
_COLUMN, _TEXT = "durations_ns", "status"
_MARK = b"PAR1"
_PLAIN, _DELTA_LENGTHS, _DICTIONARY = 0, 6, 8
_TRUE, _FALSE, _BINARY, _LIST, _STRUCT = 1, 2, 8, 9, 12
_I32, _I64 = 5, 6
_PATH, _VALUES, _SIZES, _DATA, _DICTIONARY_AT = 3, 5, (6, 7), 9, 11
"""Fields of a column's part in the footer."""

Struct = dict[int, tuple[int, Any]]
"""Type and value by field, in Thrift's compact protocol."""


def _written(table: pa.Table) -> bytes:
    file = BytesIO()
    pq.write_table(table, file, compression="none")
    return file.getvalue()


def _forged(table: pa.Table, column: str, pages: bytes, *, values: int) -> bytes:
    """A file whose column has other pages, behind the dictionary that it had."""
    content = _written(table)
    body, footer = _split(content)
    chunk = _chunk(footer, column)
    start, data = chunk[_DICTIONARY_AT][1], chunk[_DATA][1]
    chunk[_VALUES] = (_I64, values)
    chunk[_DICTIONARY_AT] = (_I64, len(body))
    chunk[_DATA] = (_I64, len(body) + data - start)
    for field in _SIZES:
        chunk[field] = (_I64, data - start + len(pages))
    for field in [field for field in chunk if field > _DICTIONARY_AT]:
        del chunk[field]
    return _joined(body + content[start:data] + pages, footer)


def _claiming(table: pa.Table, rows: int) -> bytes:
    body, footer = _split(_written(table))
    footer[3] = (_I64, rows)
    footer[4][1][1][0][3] = (_I64, rows)
    return _joined(body, footer)


def _schema(element: bytes, count: int) -> bytes:
    """A file without rows that has so many elements in its schema."""
    root = b"\x48\x01r\x15" + _zigzag(count) + b"\0"
    elements = b"\xfc" + _varint(count + 1) + root + element * count
    return _joined(_MARK, b"\x15\x04\x19" + elements + b"\x16\x00\x19\x0c\x00")


def _split(content: bytes) -> tuple[bytes, Struct]:
    end = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    return content[:end], _Decoder(content[end:]).struct()


def _joined(body: bytes, footer: Struct | bytes) -> bytes:
    encoded = footer if isinstance(footer, bytes) else _encoded(_STRUCT, footer)
    return body + encoded + len(encoded).to_bytes(4, "little") + _MARK


def _chunk(footer: Struct, column: str) -> Struct:
    parts = (chunk[3][1] for chunk in footer[4][1][1][0][1][1][1])
    return next(part for part in parts if part[_PATH][1][1][0] == column.encode())


def _page(values: int, body: bytes, encoding: int, uncompressed: int | None = None) -> bytes:
    size = len(body) if uncompressed is None else uncompressed
    facts = {1: (_I32, values), 2: (_I32, encoding), 3: (_I32, 3), 4: (_I32, 3)}
    header = {1: (_I32, 0), 2: (_I32, size), 3: (_I32, len(body)), 5: (_STRUCT, facts)}
    return _encoded(_STRUCT, header) + body


def _durations() -> bytes:
    return _list_levels(VALUES) + b"\x01" + _run(VALUES, b"\0")


def _big() -> bytes:
    return _page(VALUES, _durations(), _DICTIONARY)


def _list_levels(values: int, defined: bytes = b"\3") -> bytes:
    """Levels of one row with a list of so many values."""
    repeated = _run(1, b"\0") + (_run(values - 1, b"\1") if values > 1 else b"")
    return len(repeated).to_bytes(4, "little") + repeated + _run_with_length(values, defined)


def _run(count: int, value: bytes) -> bytes:
    return _varint(count << 1) + value


def _run_with_length(count: int, value: bytes) -> bytes:
    run = _run(count, value)
    return len(run).to_bytes(4, "little") + run


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def _zigzag(number: int) -> bytes:
    return _varint(number << 1 if number >= 0 else (-number << 1) - 1)


def _encoded(kind: int, value: Any) -> bytes:
    """A value in Thrift's compact protocol."""
    if kind in {_TRUE, _FALSE}:
        return b""
    if kind == _BINARY:
        return _varint(len(value)) + bytes(value)
    if kind == _LIST:
        inner, items = value
        size = len(items)
        head = bytes([size << 4 | inner]) if size < 15 else bytes([0xF0 | inner]) + _varint(size)
        return head + b"".join(_encoded(inner, item) for item in items)
    if kind == _STRUCT:
        encoded, last = b"", 0
        for field, (field_kind, item) in sorted(value.items()):
            encoded += bytes([(field - last) << 4 | field_kind]) + _encoded(field_kind, item)
            last = field
        return encoded + b"\0"
    return _zigzag(value)


class _Decoder:
    """The reverse, for footers as pyarrow writes them."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def struct(self) -> Struct:
        """Its fields."""
        fields: Struct = {}
        field = 0
        while head := self._byte():
            field += head >> 4
            fields[field] = (head & 0xF, self._value(head & 0xF))
        return fields

    def _value(self, kind: int) -> Any:
        others: dict[int, Callable[[], Any]] = {
            **dict.fromkeys((_TRUE, _FALSE), lambda: None),
            _BINARY: self._binary,
            _LIST: self._list,
            _STRUCT: self.struct,
        }
        return others.get(kind, self._integer)()

    def _list(self) -> tuple[int, list[Any]]:
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._varint()
        return head & 0xF, [self._value(head & 0xF) for _ in range(size)]

    def _binary(self) -> bytes:
        size = self._varint()
        self._at += size
        return self._content[self._at - size : self._at]

    def _integer(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)

    def _varint(self) -> int:
        number = shift = 0
        while (byte := self._byte()) >= 0x80:
            number |= (byte & 0x7F) << shift
            shift += 7
        return number | byte << shift

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]


def _of_two_parts(record: pa.Table) -> bytes:
    small = _page(1, _list_levels(1) + b"\x01\x02\0", _DICTIONARY)
    return _forged(record, _COLUMN, small + _big(), values=1)


def _of_nulls(record: pa.Table) -> bytes:
    page = _page(VALUES, _list_levels(VALUES, b"\2"), _PLAIN)
    return _forged(record, _COLUMN, page, values=VALUES)


def _of_long_text(record: pa.Table) -> bytes:
    count = VALUES // 10
    index = record.schema.get_field_index(_TEXT)
    table = record.set_column(index, _TEXT, pa.array(["x" * 100_000]))
    levels = _run_with_length(count, b"\1") + b"\x01" + _run(count, b"\0")
    return _forged(table, _TEXT, _page(count, levels, _DICTIONARY), values=count)


def _of_a_large_page(record: pa.Table) -> bytes:
    page = _page(1, _durations(), _PLAIN, uncompressed=2**31 - 1)
    return _forged(record, _COLUMN, page, values=1)


def _of_delta_lengths(record: pa.Table) -> bytes:
    return _forged(record, _TEXT, _page(1, _durations(), _DELTA_LENGTHS), values=1)


def _of_wide_values(record: pa.Table) -> bytes:
    return _written(record.append_column("wide", pa.array([None], pa.binary(1 << 20))))


HOSTILE_FILES: Mapping[str, Callable[[pa.Table], bytes]] = {
    "values that the footer admits": lambda one: _forged(one, _COLUMN, _big(), values=VALUES),
    "values that the footer denies": lambda one: _forged(one, _COLUMN, _big(), values=1),
    "values behind a page that says all": _of_two_parts,
    "nulls without end": _of_nulls,
    "a long text, repeated": _of_long_text,
    "a page of two gigabytes": _of_a_large_page,
    "lengths of a size of their own": _of_delta_lengths,
    "rows that no page holds": lambda one: _claiming(one, rows=2_000_000_000),
    "wide values": _of_wide_values,
    "a million columns": lambda _: _schema(b"\x25\x00\x18\x01c\x00", 1_000_000),
    "folders of columns": lambda _: _schema(b"\x35\x00\x18\x01a\x15\x02\x00", 100_000),
    "a footer without end": lambda _: _MARK + b"\0" * 100 + (2**31).to_bytes(4, "little") + _MARK,
}
"""What each of them does, and its content, made of a table of one sound row."""
