"""Page headers of Parquet files, which say how much a page holds; in Thrift's compact protocol.

pyarrow tells what the footer says, and never what the pages say, by which it reads.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from runner.contract.errors import DamagedFile

DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 = 0, 2, 3
MOST_HEADER_BYTES = 1 << 16
"""Most bytes of a header; pyarrow writes up to four limits of 4 KiB each into it."""

_CONTENTS = {DATA_PAGE: 5, DICTIONARY_PAGE: 7, DATA_PAGE_V2: 8}
"""The field that describes a page, by its kind."""
_ENCODING = {DATA_PAGE: 2, DICTIONARY_PAGE: 2, DATA_PAGE_V2: 4}
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _STRUCT = 1, 2, 3, 7, 8, 12
_INTEGERS = (4, 5, 6)
_VARINT_BYTES = 10
_DEEPEST = 4

_INTEGER = rb"\x15([\x80-\xff]{0,4}[\x00-\x7f])"
_PLAINEST = re.compile(
    rb"\x15\x00"  # a data page
    + 2 * _INTEGER  # its sizes
    + rb"(?:\x15[\x80-\xff]{0,4}[\x00-\x7f]\x1c|\x2c)"  # a checksum, or none
    + 2 * _INTEGER  # values and encoding
    + rb"\x15\x06\x15\x06(?:\x1c\x00)?\x00\x00",
    re.DOTALL,
)
"""The header of nearly every page in a record file of one row, ten times as fast."""


class PageHeader(NamedTuple):
    """The facts of a page that decide how much memory it takes."""

    kind: int
    uncompressed: int
    """Bytes of the page once it is decompressed."""
    compressed: int
    """Bytes of the page in the file, behind the header."""
    values: int
    """Values, nulls included; of a dictionary its entries."""
    encoding: int
    length: int
    """Bytes of the header itself."""


def read_page_header(content: bytes, start: int) -> PageHeader:
    """The header of the page that starts there.

    Raises:
        DamagedFile: there is none, or it is of a kind that no record file has.
    """
    if plainest := _PLAINEST.match(content, start):
        return _plainest_header(*plainest.groups(), plainest.end() - start)
    reading = _Reading(content, start)
    header = reading.struct()
    kind = header.get(1)
    facts = header.get(_CONTENTS.get(kind, 0)) if isinstance(kind, int) else None
    if not isinstance(kind, int) or not isinstance(facts, dict):
        raise DamagedFile("has a page of a kind that no record file has")
    uncompressed, compressed = _size(header, 2), _size(header, 3)
    values, encoding = _size(facts, 1), _size(facts, _ENCODING[kind])
    length = reading.position - start
    return PageHeader(kind, uncompressed, compressed, values, encoding, length)


def _size(fields: Mapping[int, Any], number: int) -> int:
    """A number that readers take as 32 bits wide."""
    value = fields.get(number)
    if not isinstance(value, int) or not 0 <= value < 2**31:
        raise DamagedFile("has a page that does not say how large it is")
    return value


@lru_cache(maxsize=1 << 14)
def _plainest_header(
    uncompressed: bytes, compressed: bytes, values: bytes, encoding: bytes, length: int
) -> PageHeader:
    return PageHeader(
        DATA_PAGE,
        _size_of(uncompressed),
        _size_of(compressed),
        _size_of(values),
        _size_of(encoding),
        length,
    )


def _size_of(varint: bytes) -> int:
    return _size({0: _Reading(varint, 0).integer()}, 0)


class _Reading:
    """One pass over a struct; each field may stand in it once, so that no reader takes another."""

    def __init__(self, content: bytes, start: int) -> None:
        self._content = content
        self._end = min(len(content), start + MOST_HEADER_BYTES)
        self.position = start

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """The values by field."""
        fields: dict[int, Any] = {}
        last = 0
        while head := self._byte():
            step, kind = head >> 4, head & 0xF
            number = last + step if step else self.integer()
            if number <= last or depth == _DEEPEST:
                raise _unreadable()
            fields[number] = self.struct(depth + 1) if kind == _STRUCT else self._value(kind)
            last = number
        return fields

    def integer(self) -> int:
        """A signed number."""
        number = self._varint()
        return (number >> 1) ^ -(number & 1)

    def _value(self, kind: int) -> Any:
        if kind in _INTEGERS:
            return self.integer()
        skipped: dict[int, Callable[[], int]] = {
            **dict.fromkeys((_TRUE, _FALSE), lambda: 0),
            _BYTE: lambda: 1,
            _DOUBLE: lambda: 8,
            _BINARY: self._varint,
        }
        if kind not in skipped:
            raise _unreadable()
        length = skipped[kind]()  # moves the position itself
        self.position += length
        return None

    def _varint(self) -> int:
        number = 0
        for shift in range(0, 7 * _VARINT_BYTES, 7):
            byte = self._byte()
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
        raise _unreadable()

    def _byte(self) -> int:
        if self.position >= self._end:
            raise _unreadable()
        self.position += 1
        return self._content[self.position - 1]


def _unreadable() -> DamagedFile:
    return DamagedFile("has a page whose header cannot be read")
