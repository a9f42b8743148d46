"""How processes ended is told the same way by everyone who launches one."""

import tempfile
from pathlib import Path

import pytest

from runner.contract.process_exit import TAIL_BYTES, end_facts, last_line, oom_kills, tail_of


@pytest.mark.parametrize(
    ("code", "facts"),
    [
        (-9, {"signal": "SIGKILL"}),
        (137, {"signal": "SIGKILL"}),
        (-11, {"signal": "SIGSEGV"}),
        (3, {"exit_status": "3"}),
        (255, {"exit_status": "255"}),
    ],
)
def test_signals_are_named_and_other_ends_are_counted(code: int, facts: dict[str, str]) -> None:
    assert end_facts(code) == facts


def test_the_tail_is_the_end_of_what_was_said() -> None:
    with tempfile.TemporaryFile() as stderr:
        stderr.write(b"early " + b"x" * TAIL_BYTES + "the end: ü\xff".encode("latin-1"))
        tail = tail_of(stderr)
    assert tail.endswith("the end: \ufffd\ufffd")
    assert "early" not in tail
    assert tail_of(stderr) == ""


@pytest.mark.parametrize(
    ("text", "line"), [("", ""), ("one", "one"), ("one\ntwo\n\n", "two"), ("10 %\r100 %", "100 %")]
)
def test_the_last_line_is_what_it_is_about(text: str, line: str) -> None:
    assert last_line(text) == line


def test_kills_for_memory_are_counted_where_the_kernel_tells(tmp_path: Path) -> None:
    vmstat = tmp_path / "vmstat"
    assert oom_kills(vmstat) == 0
    vmstat.write_text("nr_free_pages 1\noom_kill 7\n")
    assert oom_kills(vmstat) == 7
