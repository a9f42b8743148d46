"""A message is a claim: it is of this version, and its paths stay inside."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.fleet.frames import Frame
from orchestrator.fleet.messages import (
    Beat,
    Cancel,
    Declined,
    Ended,
    FactsWanted,
    Left,
    Noted,
    Refused,
    Shared,
    frame_of,
    message_to_driver,
    message_to_host,
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
