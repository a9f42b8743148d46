"""The memory that a Parquet file takes once it is read, known before any of it is decoded.

A footer of a few bytes may declare any number of values, and its pages any other: 10^8 equal values
take 78 kB. pyarrow allocates what pages declare. It is given each column through a file that looks
at the headers of its pages first; so what is looked at is what is decoded, whatever a footer says.
"""

from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from runner.contract.errors import DamagedFile
from runner.contract.record.page_header import DICTIONARY_PAGE, PageHeader, read_page_header

VALUES_A_ROW = 10_000_000
"""Most values of a column in a row, on average over the file."""
COLUMN_BYTES = 1 << 30
"""Most bytes of a column of a row group once it is decompressed."""
FREE_BYTES = 64 << 20
"""Bytes of memory that every file may take once it is read."""
BYTES_A_BYTE = 1_000
"""Bytes of memory more for each byte of the file; ours take up to 20."""
FOOTER_BYTES = 8 << 20
"""Most bytes of a footer; one of 300 row groups with our columns has them."""
_FOOTER_ITEMS = 4_000
"""Most columns, with those that hold others, and most row groups."""
_FOOTER_TEXT_BYTES = 1 << 20
_VALUE_BYTES = 64
"""Most bytes of a value of fixed width, which nulls take as well."""
_LISTS = 4
"""Most lists around a value."""
_PAGES = 1_000_000
_DICTIONARY_BYTES = 16 << 20
"""Bytes of dictionaries that are looked at, and one more for each byte of the file."""
_FEW_BYTES = 1 << 10
"""Length of a dictionary that is not worth a look."""
_ENCODINGS = {0, 2, 3, 8}
"""Plain, run lengths and dictionaries; others repeat texts, or declare a size of their own."""
_BY_DICTIONARY = {2, 8}
_CODECS = ("zstd", "snappy", "gzip", "lz4_raw", "lz4", "brotli")
_OFFSET_BYTES = 8
_ENTRY_BYTES = 16
"""Bytes of memory for where an entry of a dictionary lies."""
_LENGTH_BYTES = 4
"""Bytes of the length in front of each text of a dictionary."""
_MARK = b"PAR1"


def open_parquet(source: bytes | IO[bytes]) -> pq.ParquetFile:
    """Open the content of a Parquet file, or a file, of which reading takes bounded memory.

    Checksums of pages are verified where the file has them: runners write them since 0.2. Reading
    from it raises DamagedFile as well as what pyarrow raises.

    Raises:
        DamagedFile: it holds more than is allowed.
        pyarrow.ArrowException, OSError: it is no Parquet file.
    """
    file = _WatchedFile(BytesIO(source) if isinstance(source, bytes) else source)
    file.require_short_footer()
    parquet = pq.ParquetFile(
        pa.PythonFile(file, mode="r"),
        page_checksum_verification=True,
        pre_buffer=False,
        thrift_string_size_limit=_FOOTER_TEXT_BYTES,
        thrift_container_size_limit=_FOOTER_ITEMS,
    )
    file.watch(parquet.metadata)
    return parquet


class _WatchedFile:
    """A file of which every read, once the footer is known, is that of a whole column."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell
        self._size = file.seek(0, 2)
        self._pages: _Pages | None = None

    @property
    def closed(self) -> bool:
        """True if it can be read no longer."""
        return self._file.closed

    def read(self, length: int = -1) -> bytes:
        """Read on; of a column, only if its pages hold no more than they may."""
        content = self._file.read(length)
        if self._pages is not None:
            self._pages.check(content)
        return content

    def require_short_footer(self) -> None:
        """Refuse a footer that would take all memory to parse."""
        self._file.seek(max(0, self._size - 8))
        end = self._file.read(8)
        length = int.from_bytes(end[:4], "little")
        if end[4:] == _MARK:
            _require_at_most(FOOTER_BYTES, length, "bytes of footer")

    def watch(self, metadata: pq.FileMetaData) -> None:
        """Look at every page from now on."""
        value_bytes = _value_bytes(metadata.schema)
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        rows = sum(max(0, group.num_rows) for group in groups)
        _require_at_most(_allowed(self._size) // value_bytes, rows * len(metadata.schema), "values")
        self._pages = _Pages(self._size, rows, value_bytes)


def _allowed(size: int) -> int:
    return FREE_BYTES + BYTES_A_BYTE * size


def _value_bytes(schema: pq.ParquetSchema) -> int:
    """Bytes that a value takes at most, with the offsets of the lists around it."""
    lists = 0
    for leaf in map(schema.column, range(len(schema))):
        lists = max(lists, leaf.max_repetition_level)
        if leaf.physical_type == "FIXED_LEN_BYTE_ARRAY":
            _require_at_most(_VALUE_BYTES, leaf.length, f"bytes in each value of {leaf.path}")
    _require_at_most(_LISTS, lists, "lists in lists")
    return _OFFSET_BYTES * (1 + lists)


class _Pages:
    """The pages of one file, which are counted as they are read."""

    def __init__(self, size: int, rows: int, value_bytes: int) -> None:
        self._allowed = _allowed(size)
        self._rows = rows
        self._values = VALUES_A_ROW * rows
        self._value_bytes = value_bytes
        self._memory = self._count = 0
        self._dictionaries = _DICTIONARY_BYTES + size

    def check(self, column: bytes) -> None:
        """Look at each page of a column of a row group; most have one."""
        position = values = uncompressed = entry_bytes = 0
        while position < len(column):
            header = read_page_header(column, position)
            position += header.length
            self._count += 1
            size = max(header.uncompressed, header.compressed)
            uncompressed += size
            self._memory += size
            if header.kind == DICTIONARY_PAGE:
                content = column[position : position + header.compressed]
                entry_bytes = self._entry_bytes(header, content)
            elif header.encoding not in _ENCODINGS:
                raise DamagedFile("has a page that is encoded as none of a record file")
            else:
                values += header.values
                repeated = entry_bytes if header.encoding in _BY_DICTIONARY else 0
                self._memory += header.values * (self._value_bytes + repeated)
            position += header.compressed
            if self._is_too_much(values, uncompressed):
                raise self._excess(values, uncompressed)
        if position > len(column):
            raise DamagedFile("has a page that ends behind its column")

    def _is_too_much(self, values: int, uncompressed: int) -> bool:
        return (
            self._memory > self._allowed
            or values > self._values
            or uncompressed > COLUMN_BYTES
            or self._count > _PAGES
        )

    def _excess(self, values: int, uncompressed: int) -> DamagedFile:
        rows = f"{self._rows:,} {'row' if self._rows == 1 else 'rows'}"
        limits = (
            (self._values, values, f"values of a column in {rows}"),
            (COLUMN_BYTES, uncompressed, "bytes uncompressed in a column"),
            (_PAGES, self._count, "pages"),
            (self._allowed, self._memory, "bytes uncompressed"),
        )
        return next(_excess(*limit) for limit in limits if limit[1] > limit[0])

    def _entry_bytes(self, header: PageHeader, content: bytes) -> int:
        """Bytes of the longest entry of a dictionary, or at least as many."""
        size, entries = max(header.uncompressed, len(content)), header.values
        if entries > size:
            raise DamagedFile("has a dictionary of more entries than bytes")
        self._memory += entries * _ENTRY_BYTES
        self._dictionaries -= size
        if size <= _FEW_BYTES or self._dictionaries < 0:
            return size
        return max(
            size // max(entries, 1),
            *(_longest_text(text, entries) for text in _decompressed(content, size)),
        )


def _decompressed(content: bytes, size: int) -> Iterator[bytes]:
    """The content in every way that it can be read; the footer alone says which one is meant."""
    yield content
    for name in _CODECS:
        with suppress(pa.ArrowException, OSError):
            yield pa.Codec(name).decompress(content, size, asbytes=True)


def _longest_text(content: bytes, entries: int) -> int:
    """The length of the longest text, each with its length before it; 0 if it holds others."""
    longest = position = 0
    for _ in range(entries):
        start = position + _LENGTH_BYTES
        length = int.from_bytes(content[position:start], "little")
        position = start + length
        if position > len(content):
            return 0
        longest = max(longest, length)
    return longest


def _require_at_most(allowed: int, actual: int, noun: str) -> None:
    if actual > allowed:
        raise _excess(allowed, actual, noun)


def _excess(allowed: int, actual: int, noun: str) -> DamagedFile:
    return DamagedFile(f"holds {actual:,} {noun}; at most {allowed:,} are allowed")
