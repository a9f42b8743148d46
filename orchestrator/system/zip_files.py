"""Zip archives that others made: how a damaged one fails, and files that lie in it as they are."""

import lzma
import struct
import zlib
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

ZIP_ERRORS = (
    *(BadZipFile, EOFError, OSError, RuntimeError, ValueError),
    *(zlib.error, lzma.LZMAError, struct.error),
)
"""Exceptions of `zipfile` for archives that are damaged, or of a kind that it does not know."""
_ENCRYPTED = 0x1


def stored_entries(archive: ZipFile, most_bytes: int) -> list[ZipInfo]:
    """The entries of an archive that holds its files unpacked; else BadZipFile."""
    entries = archive.infolist()
    stored = all(
        entry.compress_type == ZIP_STORED and not entry.flag_bits & _ENCRYPTED for entry in entries
    )
    if not stored or sum(entry.file_size for entry in entries) > most_bytes:
        raise BadZipFile("what is packed or encrypted is not read")
    return entries
