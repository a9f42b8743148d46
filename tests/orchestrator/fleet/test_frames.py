"""A frame arrives whole or not at all, whatever else is in the stream."""

import io
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.fleet.frames import BODY_BYTES, HEAD_BYTES, MARK, Frame, encode, read_frame
from runner.contract.errors import DamagedFile

FRAMES = st.builds(Frame, st.binary(max_size=200), st.binary(max_size=200))


class Trickle(io.BytesIO):
    """A pipe: a read gives fewer bytes than were asked for."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(3, size) if size and size > 0 else size)


@given(st.lists(FRAMES, max_size=4))
def test_frames_arrive_as_they_were_sent(frames: list[Frame]) -> None:
    stream = Trickle(b"".join(map(encode, frames)))
    assert [read_frame(stream) for _ in frames] == frames
    assert read_frame(stream) is None


@given(FRAMES, st.data())
def test_a_stream_that_ends_within_a_frame_is_damaged(frame: Frame, data: Any) -> None:
    content = encode(frame)
    cut = data.draw(st.integers(1, len(content) - 1))
    with pytest.raises(DamagedFile):
        read_frame(io.BytesIO(content[:cut]))


@given(FRAMES, st.data())
def test_a_changed_byte_gives_no_frame(frame: Frame, data: Any) -> None:
    content = bytearray(encode(frame))
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(DamagedFile):
        read_frame(io.BytesIO(bytes(content)))


@given(st.binary(min_size=1, max_size=200).filter(lambda garbage: not garbage.startswith(MARK)))
def test_garbage_is_no_frame(garbage: bytes) -> None:
    with pytest.raises(DamagedFile):
        read_frame(io.BytesIO(garbage + encode(Frame(b"{}"))))


@pytest.mark.parametrize(
    ("head", "body"), [(HEAD_BYTES + 1, 0), (0, BODY_BYTES + 1), (2**32 - 1, 2**64 - 1)]
)
def test_sizes_larger_than_any_of_ours_are_not_read(head: int, body: int) -> None:
    stream = io.BytesIO(struct.pack("!4sIQI", MARK, head, body, 0) + b"x" * 100)
    with pytest.raises(DamagedFile, match="larger than any"):
        read_frame(stream)
