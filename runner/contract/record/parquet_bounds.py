"""The size that a Parquet file takes once it is read, known before any of it is read.

A footer of a few bytes may declare any number of values, and its pages any other: 10^8 equal values
take 78 kB. pyarrow allocates what pages declare, so footer and page headers are both looked at.
"""

from collections.abc import Iterator
from typing import IO, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from runner.contract.errors import DamagedFile
from runner.contract.record.page_header import (
    DICTIONARY_PAGE,
    MOST_HEADER_BYTES,
    PageHeader,
    read_page_header,
)

VALUES_A_ROW = 10_000_000
"""Most values of a column in a row, on average over a row group."""
GROUP_BYTES = 1 << 30
"""Most bytes of a row group once it is decompressed."""
FREE_BYTES = 64 << 20
"""Bytes of memory that every file may take once it is read."""
BYTES_A_BYTE = 1_000
"""Bytes of memory more for each byte of the file."""
FOOTER_BYTES = 8 << 20
"""Most bytes of a footer; one of 300 row groups with our columns has them."""
_FOOTER_ITEMS = 4_000
"""Most columns, with those that hold others, and most row groups."""
_FOOTER_TEXT_BYTES = 1 << 20
_PAGES = 1_000_000
_DICTIONARY_BYTES = 16 << 20
"""Bytes of dictionaries that are looked at, and one more for each byte of the file."""
_FEW_BYTES = 1 << 20
"""Repeated texts of a column that are not worth a look."""
_ENCODINGS = {0, 2, 3, 8}
"""Plain, run lengths and dictionaries; others repeat texts, or declare a size of their own."""
_BY_DICTIONARY = {2, 8}
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "FLOAT": 4, "DOUBLE": 8, "INT96": 12}
_LENGTH_BYTES = 4
"""Bytes of the length in front of each text of a dictionary."""
_MARK = b"PAR1"
_OFFSET_BYTES = 8


def open_parquet(source: bytes | IO[bytes]) -> pq.ParquetFile:
    """Open the content of a Parquet file, or a file, that can be read in bounded memory.

    Checksums of pages are verified where the file has them: runners write them since 0.2.

    Raises:
        DamagedFile: it holds more than is allowed, or its pages hold something else than its
            footer says.
        pyarrow.ArrowException, OSError: it is no Parquet file.
    """
    content = _Content(source)
    _require_short_footer(content.read(max(0, content.size - 8), 8))
    parquet = pq.ParquetFile(
        pa.BufferReader(source) if isinstance(source, bytes) else source,
        page_checksum_verification=True,
        pre_buffer=False,
        thrift_string_size_limit=_FOOTER_TEXT_BYTES,
        thrift_container_size_limit=_FOOTER_ITEMS,
    )
    _Bounds(parquet.metadata, content).check()
    return parquet


def _require_short_footer(end: bytes) -> None:
    length = int.from_bytes(end[:4], "little")
    if end[4:] == _MARK and length > FOOTER_BYTES:
        raise DamagedFile(f"has a footer of {length:,} bytes; at most {FOOTER_BYTES:,} are allowed")


class _Content:
    """The bytes of the file, in memory or on disk."""

    def __init__(self, source: bytes | IO[bytes]) -> None:
        self._source = source
        self.size = len(source) if isinstance(source, bytes) else source.seek(0, 2)

    def read(self, start: int, length: int) -> bytes:
        """Some of them; fewer at the end of the file."""
        if isinstance(self._source, bytes):
            return self._source[start : start + length]
        self._source.seek(start)
        return self._source.read(length)

    def header(self, start: int) -> PageHeader:
        """The header of the page that starts there."""
        if isinstance(self._source, bytes):
            return read_page_header(self._source, start)
        return read_page_header(self.read(start, MOST_HEADER_BYTES), 0)


class _Column(NamedTuple):
    """One column of plain values, which may lie in lists."""

    path: str
    is_text: bool
    value_bytes: int
    """Bytes of memory that a value takes, with the offsets of the lists above it."""
    entry_bytes: int
    """Fewest bytes of an entry in a dictionary."""
    in_list: bool


def _column(leaf: pq.ColumnSchema) -> _Column:
    kind, lists = leaf.physical_type, leaf.max_repetition_level
    width = leaf.length if kind == "FIXED_LEN_BYTE_ARRAY" else _WIDTHS.get(kind, _LENGTH_BYTES)
    value_bytes = max(width, _OFFSET_BYTES) + lists * _OFFSET_BYTES
    return _Column(leaf.path, kind == "BYTE_ARRAY", value_bytes, max(width, 1), lists > 0)


class _Bounds:
    """The check of one file, which ends as soon as too much has been declared."""

    def __init__(self, metadata: pq.FileMetaData, content: _Content) -> None:
        self._metadata = metadata
        self._content = content
        self._memory = self._pages = 0
        self._dictionaries = _DICTIONARY_BYTES + content.size

    def check(self) -> None:
        """Look at each page of each column."""
        schema = self._metadata.schema
        columns = [_column(schema.column(number)) for number in range(len(schema))]
        rows = 0
        for number in range(self._metadata.num_row_groups):
            group = self._metadata.row_group(number)
            rows += group.num_rows
            size = 0
            for at, column in enumerate(columns):
                size += self._check_chunk(group.column(at), column, group.num_rows)
                _require_at_most(GROUP_BYTES, size, "bytes uncompressed in a row group")
        if rows != self._metadata.num_rows:
            raise _contradiction(f"{self._metadata.num_rows:,} rows", f"{rows:,}")

    def _check_chunk(self, chunk: pq.ColumnChunkMetaData, column: _Column, rows: int) -> int:
        """Look at a column of a row group; returns its bytes once it is decompressed."""
        values = size = longest = 0
        for header, start in self._pages_of(chunk):
            size += header.uncompressed
            if header.kind == DICTIONARY_PAGE:
                if header.values * column.entry_bytes > header.uncompressed:
                    raise _contradiction(f"{header.values:,} entries", "fewer", column)
                longest = self._longest(chunk, header, start) if column.is_text else 0
                self._take(header.uncompressed, column)
                continue
            if header.encoding not in _ENCODINGS:
                raise DamagedFile(f"{column.path}: is encoded as no record file is")
            values += header.values
            _require_at_most(
                VALUES_A_ROW * rows, values, f"values of {column.path} in {rows:,} rows"
            )
            repeated = longest if header.encoding in _BY_DICTIONARY else 0
            self._take(
                header.uncompressed + header.values * (column.value_bytes + repeated), column
            )
        if values != chunk.num_values or values < rows or (values > rows and not column.in_list):
            claim = f"{chunk.num_values:,} values in {rows:,} rows"
            raise _contradiction(claim, f"{values:,}", column)
        return size

    def _pages_of(self, chunk: pq.ColumnChunkMetaData) -> Iterator[tuple[PageHeader, int]]:
        """The headers of a column's pages, each with the start of what is behind it."""
        data, dictionary = chunk.data_page_offset, chunk.dictionary_page_offset
        position = dictionary if dictionary and dictionary < data else data
        end = position + chunk.total_compressed_size
        if not 0 < position <= end <= self._content.size:
            raise DamagedFile("has pages outside of the file")
        while position < end:
            self._pages += 1
            _require_at_most(_PAGES, self._pages, "pages")
            header = self._content.header(position)
            start = position + header.length
            yield header, start
            position = start + header.compressed
        if position != end:
            raise DamagedFile("has a page that ends in another one")

    def _longest(self, chunk: pq.ColumnChunkMetaData, header: PageHeader, start: int) -> int:
        """Bytes of the longest text in a dictionary, or at least as many."""
        size = header.uncompressed
        self._dictionaries -= size
        if chunk.num_values * size <= _FEW_BYTES or self._dictionaries < 0:
            return size
        content = self._content.read(start, header.compressed)
        if chunk.compression != "UNCOMPRESSED":
            codec = pa.Codec(chunk.compression.lower())
            content = codec.decompress(content, size, asbytes=True)
        longest = position = 0
        while position < size:
            text = position + _LENGTH_BYTES
            position = text + int.from_bytes(content[position:text], "little")
            longest = max(longest, position - text)
        return longest

    def _take(self, memory: int, column: _Column) -> None:
        self._memory += memory
        allowed = FREE_BYTES + BYTES_A_BYTE * self._content.size
        _require_at_most(allowed, self._memory, f"bytes in memory with {column.path}")


def _require_at_most(allowed: int, actual: int, what: str) -> None:
    if actual > allowed:
        raise DamagedFile(f"holds {actual:,} {what}; at most {allowed:,} are allowed")


def _contradiction(footer: str, pages: str, column: _Column | None = None) -> DamagedFile:
    where = f"{column.path}: " if column else ""
    return DamagedFile(f"{where}its footer says {footer}, and its pages {pages}")
