"""A message is a claim: it is of this version, its frame is whole, and its paths stay inside."""

import io
import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.fleet.messages import (
    BODY_BYTES,
    HEAD_BYTES,
    MARK,
    Beat,
    Cancel,
    Declined,
    Ended,
    FactsWanted,
    Frame,
    Left,
    Noted,
    Refused,
    Shared,
    encode,
    frame_of,
    message_to_driver,
    message_to_host,
    read_frame,
)
from runner.contract.errors import DamagedFile

LEAVING = ["..", ".", "", "/", "a/b", "/etc", "..\\x", ".hidden", "a\x00b", "a\nb", "ü", "x" * 241]


def frame(**fields: Any) -> Frame:
    return Frame(json.dumps(fields).encode())


@pytest.mark.parametrize(
    "message",
    [
        Beat(),
        Ended(),
        Declined(backend="cpu", reason="no image", exit_code=5),
        Left(path=("job", "log.txt")),
        Noted(text="a line"),
        Refused(reason="another version", hint="pip install"),
    ],
)
def test_a_driver_reads_what_a_host_wrote(message: Any) -> None:
    assert message_to_driver(frame_of(message, b"body")) == message


@pytest.mark.parametrize(
    "message", [Beat(), Cancel(), FactsWanted(), Shared(folder="references", path=("key.npz",))]
)
def test_a_host_reads_what_a_driver_wrote(message: Any) -> None:
    assert message_to_host(frame_of(message, b"body")) == message


@pytest.mark.parametrize("read", [message_to_driver, message_to_host])
@pytest.mark.parametrize(
    "content",
    [
        frame(kind="execute_anything"),
        frame(kind="beat", extra=1),
        frame(text="no kind"),
        frame(kind="shared", folder="results", path=["a"]),
        Frame(b"[]"),
        Frame(b"{"),
        Frame(b"\xff\xfe"),
    ],
)
def test_what_is_no_message_is_refused(read: Any, content: Frame) -> None:
    with pytest.raises(DamagedFile, match="no message of this version"):
        read(content)


def test_each_side_refuses_what_is_meant_for_the_other() -> None:
    with pytest.raises(DamagedFile):
        message_to_host(frame_of(Ended()))
    with pytest.raises(DamagedFile):
        message_to_driver(frame_of(Cancel()))


@pytest.mark.parametrize("name", LEAVING)
def test_a_path_stays_in_its_folder(name: str) -> None:
    for path in ([name], ["inside", name]):
        with pytest.raises(DamagedFile):
            message_to_driver(frame(kind="left", path=path))
        with pytest.raises(DamagedFile):
            message_to_host(frame(kind="shared", folder="graphs", path=path))


@pytest.mark.parametrize("path", [[], ["a"] * 5])
def test_a_path_has_some_components_and_not_many(path: list[str]) -> None:
    with pytest.raises(DamagedFile):
        message_to_driver(frame(kind="left", path=path))


@given(st.binary(max_size=100))
def test_no_bytes_end_as_a_bug(content: bytes) -> None:
    with pytest.raises(DamagedFile):
        message_to_driver(Frame(content))


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
