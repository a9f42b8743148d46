"""The child's side of a cold start, spoken to as its parent does."""

import ast
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.modes.startup import child as child_module
from runner.modes.startup.child import START_ANSWER, StartFailure, StartReport, StartRequest
from tests.support.jobs import a_job, fake_cell, fake_model

COMMAND = [sys.executable, "-m", "runner.modes.startup.child"]


def a_line(query: bool, faults: dict[str, str] | None = None, **config: Any) -> bytes:
    job = a_job([fake_cell(mode="startup")], fake_model(faults, **config))
    return StartRequest(job=job, threads=1, query=query).model_dump_json().encode() + b"\n"


@pytest.fixture
def child() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process
        process.kill()


def ask(child: "subprocess.Popen[bytes]", line: bytes) -> StartReport | StartFailure:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(line)
    child.stdin.flush()
    return START_ANSWER.validate_json(child.stdout.readline())


def test_a_start_reports_its_stages_and_a_failure_is_an_answer(
    child: "subprocess.Popen[bytes]",
) -> None:
    report = ask(child, a_line(query=True, load_s=0.05, latency_s=0.02))
    assert isinstance(report, StartReport)
    assert report.stages_ns["weights"] >= 0.05e9
    assert report.first_query_ns is not None
    assert report.first_query_ns >= 0.02e9
    assert report.loaded_at_ns - report.first_line_at_ns >= report.import_ns + 0.05e9
    assert report.peak_bytes is None or report.peak_bytes > 10e6
    assert report.unread_share is None or 0 <= report.unread_share <= 1


def test_without_a_query_the_model_is_held_until_stdin_ends(
    child: "subprocess.Popen[bytes]",
) -> None:
    report = ask(child, a_line(query=False))
    assert isinstance(report, StartReport)
    assert report.first_query_ns is None
    assert child.poll() is None
    assert child.stdin is not None
    child.stdin.close()
    assert child.wait(30) == -signal.SIGKILL


def test_it_ends_with_its_parent_even_while_it_loads(child: "subprocess.Popen[bytes]") -> None:
    assert child.stdin is not None
    child.stdin.write(a_line(True, {"load": "hang"}))
    child.stdin.close()
    assert child.wait(30) == -signal.SIGKILL


def test_nothing_heavy_is_imported_before_the_clock_is_read() -> None:
    imported = "import sys, runner.modes.startup; print({'numpy', 'pydantic'} & set(sys.modules))"
    output = subprocess.run([sys.executable, "-c", imported], capture_output=True, check=True)
    assert output.stdout.decode().strip() == "set()"
    first, second, third, *_ = ast.parse(Path(child_module.__file__).read_text("utf-8")).body[1:]
    assert ast.unparse(first) == "import time"
    assert ast.unparse(second).endswith("= time.perf_counter_ns()")
    assert ast.unparse(third) == "import numpy"
