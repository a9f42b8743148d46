"""The streams of a job's process: turns that its launcher gives, orders, and their end."""

import json
import signal
import subprocess
import sys
from collections.abc import Sequence

import pytest

from runner.process import Gate, Orders
from tests.conftest import ROOT
from tests.support.fakes import KeptProgress


@pytest.mark.parametrize(
    ("lines", "bursts"),
    [
        (["{}"], []),
        (['{"burst_s": 0.2}', "{}"], [0.2]),
        (['{"burst_s": 1}', '{"burst_s": 0.5, "more": null}', '{"go": "on"}'], [1.0, 0.5]),
    ],
)
def test_a_cell_takes_the_bursts_that_it_is_told_to_and_says_that_it_waits(
    lines: Sequence[str], bursts: list[float]
) -> None:
    orders, progress = Orders(), KeptProgress()
    for line in lines:
        orders.put(line)
    assert [*Gate(orders, progress).turns("a-cell")] == bursts
    assert progress.events == [{"event": "waits", "cell_id": "a-cell"}] * len(lines)
    assert orders.empty()


def test_a_cell_that_works_has_not_asked_for_its_next_turn() -> None:
    orders, progress = Orders(), KeptProgress()
    orders.put('{"burst_s": 0.2}')
    turns = Gate(orders, progress).turns("a-cell")
    assert progress.events == []
    next(turns)
    assert len(progress.events) == 1


ECHO = """
import time
from runner.process import die_at_end_of_stdin
orders = die_at_end_of_stdin()
print("up", flush=True)
while True:
    print(orders.get(), flush=True)
"""


def test_lines_arrive_whole_however_they_are_cut_and_their_end_ends_the_process() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", ECHO], cwd=ROOT, stdin=pipe, stdout=pipe, bufsize=0
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        lines = [b'{"burst_s": 0.2}', b"{}", b"x" * 10_000, "é".encode()]
        whole = b"\n".join(lines) + b"\n"
        heard = b""
        for begin, end in ((0, 3), (3, 17), (17, 18), (18, 5000), (5000, -2), (-2, None)):
            process.stdin.write(whole[begin:end])
        while heard.count(b"\n") < len(lines):
            heard += process.stdout.read(65536)
        assert heard == whole
        process.stdin.write(b'{"unfinished": ')
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == -signal.SIGKILL
    assert json.loads(lines[0]) == {"burst_s": 0.2}
