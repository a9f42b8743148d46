"""How processes ended is told the same way by everyone who launches one."""

from pathlib import Path

import pytest

from runner.contract.processes import end_facts, oom_kills


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


def test_kills_for_memory_are_counted_where_the_kernel_tells(tmp_path: Path) -> None:
    vmstat = tmp_path / "vmstat"
    assert oom_kills(vmstat) == 0
    vmstat.write_text("nr_free_pages 1\noom_kill 7\n")
    assert oom_kills(vmstat) == 7
