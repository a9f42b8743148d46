"""How processes ended is told the same way by everyone who launches one."""

from pathlib import Path

import pytest

from runner.contract.process_exit import describe_end, oom_kills


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (-9, "died by SIGKILL"),
        (137, "died by SIGKILL"),
        (-11, "died by SIGSEGV"),
        (3, "ended with exit status 3"),
        (255, "ended with exit status 255"),
    ],
)
def test_signals_are_named_and_other_ends_are_counted(code: int, words: str) -> None:
    assert describe_end(code) == words


def test_kills_for_memory_are_counted_where_the_kernel_tells(tmp_path: Path) -> None:
    vmstat = tmp_path / "vmstat"
    assert oom_kills(vmstat) == 0
    vmstat.write_text("nr_free_pages 1\noom_kill 7\n")
    assert oom_kills(vmstat) == 7
