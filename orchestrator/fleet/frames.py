"""Frames: what hosts and the driver write to each other, whole or not at all.

A frame has a prefix, a head and a body. The prefix holds a mark, both sizes and a checksum, so that
a login's banner, a library's print or the end of a broken connection is never taken for content.
"""

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from runner.contract.errors import DamagedFile

MARK = b"AMX1"
HEAD_BYTES = 16 << 20
"""Most bytes of a head."""
BODY_BYTES = 128 << 20
"""Most bytes of a body: an order's run file, a record, a reference, a trace."""
_PREFIX = struct.Struct("!4sIQI")
_SHOWN = 60
_READ_BYTES = 64 << 10
"""Bytes after which their arrival is a sign of life."""


@dataclass(frozen=True)
class Frame:
    """One message: what it says, and the bytes that belong to it."""

    head: bytes
    """JSON; see `messages`."""
    body: bytes = b""
    """The content of a file, or nothing."""


def encode(frame: Frame) -> bytes:
    """The frame's bytes."""
    checksum = zlib.crc32(frame.body, zlib.crc32(frame.head))
    return _PREFIX.pack(MARK, len(frame.head), len(frame.body), checksum) + frame.head + frame.body


def hear_nothing() -> None:
    """Take a sign of life that nobody waits for."""


def read_frame(stream: IO[bytes], alive: Callable[[], None] = hear_nothing) -> Frame | None:
    """The next frame of a blocking stream; None at its end, if that is between two frames.

    Args:
        stream: the stream.
        alive: is called whenever bytes came, long before a large frame is whole.

    Raises:
        DamagedFile: what is there is no frame, or the stream ends within one.
    """
    prefix = _read(stream, _PREFIX.size, alive)
    if not prefix:
        return None
    if not prefix.startswith(MARK):
        begin = prefix + (stream.read(_SHOWN) or b"")
        raise DamagedFile(f"no frame: {begin[:_SHOWN].decode('utf-8', 'replace')!r}")
    if len(prefix) < _PREFIX.size:
        raise DamagedFile("the stream ended within a frame")
    _, head_bytes, body_bytes, checksum = _PREFIX.unpack(prefix)
    if head_bytes > HEAD_BYTES or body_bytes > BODY_BYTES:
        raise DamagedFile(
            f"a frame of {head_bytes + body_bytes:,} bytes is larger than any of ours"
        )
    head, body = _read(stream, head_bytes, alive), _read(stream, body_bytes, alive)
    if len(head) < head_bytes or len(body) < body_bytes:
        raise DamagedFile("the stream ended within a frame")
    if zlib.crc32(body, zlib.crc32(head)) != checksum:
        raise DamagedFile("the checksum of a frame is another one")
    return Frame(head, body)


def _read(stream: IO[bytes], size: int, alive: Callable[[], None]) -> bytes:
    """So many bytes, or those before the stream's end."""
    parts, left = [], size
    while left and (part := stream.read(min(left, _READ_BYTES))):
        alive()
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
