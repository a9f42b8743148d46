"""A job may print what it likes: lines stay in order, and memory and time bounded."""

from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.launchers.output import BURST_S, JobOutput, LineQueue, LineSplitter, Pace

chunks = st.lists(st.binary(max_size=40).map(lambda raw: raw.replace(b"a", b"\n")), max_size=30)


def split(chunks: list[bytes], most_bytes: int) -> list[bytes]:
    splitter = LineSplitter(most_bytes)
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    return [*lines, *splitter.rest()]


@given(chunks, st.integers(1, 60))
def test_lines_are_those_of_the_whole_cut_at_the_limit(chunks: list[bytes], limit: int) -> None:
    *lines, rest = b"".join(chunks).split(b"\n")
    expected = [*lines, rest] if rest else lines
    assert split(chunks, limit) == [line[:limit] for line in expected]


def test_a_line_without_end_is_held_up_to_the_limit_alone() -> None:
    splitter = LineSplitter(10)
    assert [splitter.feed(b"x" * 1000) for _ in range(1000)] == [[]] * 1000
    assert splitter.rest() == [b"x" * 10]
    assert splitter.rest() == []


@pytest.mark.parametrize("early", [True, False], ids=["before", "meanwhile"])
def test_nobody_waits_for_a_reader_that_has_gone(early: bool) -> None:
    lines = LineQueue(2)
    if early:
        lines.discard()
    writer = Thread(target=lambda: [lines.put(line) for line in ("1", "2", "3", "4", None)])
    writer.start()
    if not early:
        assert lines.get(timeout=30) == "1"
        lines.discard()
    writer.join(30)
    assert not writer.is_alive()
    assert lines.get(timeout=30) is None


def test_the_end_outlives_what_is_discarded_and_nothing_comes_behind_it() -> None:
    lines = LineQueue()
    for line in ("1", None, "2"):
        lines.put(line)
    lines.discard()
    assert lines.get(timeout=30) is None
    assert lines.empty()


@pytest.mark.parametrize(
    ("cost_s", "passed_s", "delay_s"),
    [(BURST_S, 0, 0), (BURST_S + 1, 0, 1), (2 * BURST_S, BURST_S, 0), (2 * BURST_S, 4, 6)],
    ids=["burst", "too much", "paid later", "still due"],
)
def test_a_stream_is_held_to_its_rate_after_a_burst(
    cost_s: float, passed_s: float, delay_s: float
) -> None:
    now = [100.0]
    pace = Pace(lambda: now[0])
    first = pace.delay_s(cost_s)
    now[0] += passed_s
    assert pace.delay_s(0) == pytest.approx(delay_s)
    assert first == pytest.approx(max(0, cost_s - BURST_S))


def test_lines_come_before_the_end_and_the_log_is_the_end_of_stderr() -> None:
    output = JobOutput()
    for chunk in (b"half a ", b"line\n\xff\nunfin", b"ished"):
        output.take_stdout(chunk)
    output.take_stderr(b"x" * 50_000)
    output.take_stderr(b"the \xffreason")
    output.end()
    assert [output.lines.get() for _ in range(4)] == ["half a line", "\ufffd", "unfinished", None]
    assert output.log.endswith("xthe \ufffdreason")
    assert len(output.log) <= 8192
