"""Verification, timing and traces of bert-tiny by process."""

import json
from pathlib import Path

import pytest

from tests.support.workplace import Workplace

pytestmark = pytest.mark.slow
MATRIX = """
version: 1
axes: {model: bert-tiny, precision: [fp32], batch_size: 1, sequence_length: 16}
measure: {iterations: 3, min_duration: 0s, max_duration: 1s, warmup_max_duration: 200ms}
"""
TIMED = "latency_median_s IS NOT NULL AS timed, correct, correct_reason, purpose, proof"


@pytest.fixture
def process_workplace(process_workplace: Workplace) -> Workplace:
    """A user's folder."""
    (process_workplace.folder / "matrix.yaml").write_text(MATRIX)
    return process_workplace


def measure(process_workplace: Workplace, *options: str) -> str:
    done = process_workplace.do("run", "matrix.yaml", "--launcher", "process", *options)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def references(process_workplace: Workplace) -> dict[str, int]:
    paths = process_workplace.folder.glob("results/references/*")
    return {path.name: path.stat().st_mtime_ns for path in paths}


def test_verifying_alone_says_correct_and_gives_no_number(process_workplace: Workplace) -> None:
    output = measure(process_workplace, "--verify-only", "--set", "axes.precision=fp32,bf16")
    assert output.count("computing the fp32 reference of bert-tiny") == 1
    rows = process_workplace.ask(f"SELECT {TIMED} FROM benchmark_results")
    assert [(row["timed"], row["correct"], row["purpose"]) for row in rows] == [
        (False, True, "verify")
    ] * 2
    assert process_workplace.ask("SELECT * FROM benchmark_performance") == []
    kept = references(process_workplace)
    assert [Path(name).suffix for name in kept] == [".npz"]
    assert "computing" not in measure(process_workplace, "--verify-only")
    assert references(process_workplace) == kept


def test_timing_alone_needs_no_reference(process_workplace: Workplace) -> None:
    measure(process_workplace, "--no-verify")
    (row,) = process_workplace.ask(f"SELECT {TIMED} FROM benchmark_results")
    assert (row["timed"], row["correct"], row["purpose"]) == (True, None, "time")
    assert row["correct_reason"] == "not verified: --no-verify"
    assert references(process_workplace) == {}
    (shown,) = process_workplace.ask("SELECT correct FROM benchmark_performance")
    assert shown["correct"] is None


def test_a_trace_lies_beside_its_record_and_is_named(process_workplace: Workplace) -> None:
    output = measure(process_workplace, "--trace", "--no-verify")
    (trace,) = process_workplace.run_folder.glob("records/*/*.trace.json")
    assert json.loads(trace.read_text())["traceEvents"]
    assert trace.with_name(trace.name.replace(".trace.json", ".operators.txt")).read_text()
    assert f"trace: {trace.relative_to(process_workplace.folder)}" in output
    assert len(process_workplace.records()) == 1


def test_the_purpose_of_a_run_survives_resuming(process_workplace: Workplace) -> None:
    options = ["--launcher", "process", "--verify-only", "--budget", "0s"]
    assert process_workplace.do("run", "matrix.yaml", *options).returncode == 3
    assert process_workplace.do("run", "--resume", "last").returncode == 0
    (row,) = process_workplace.ask(f"SELECT {TIMED} FROM benchmark_results")
    assert (row["timed"], row["correct"], row["purpose"]) == (False, True, "verify")


def test_a_result_measured_again_is_kept_beside_the_first(process_workplace: Workplace) -> None:
    measure(process_workplace)
    done = process_workplace.do("replay", "last/cpu-bert-tiny-fp32-b1-s16-inference", "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    then, now = data["then"], data["now"]
    assert (then["cell_id"], then["correct"]) == (now["cell_id"], now["correct"])
    assert data["ratio"] > 0
    assert {"intervals_overlap", "differences"} <= set(data)
    settings = process_workplace.ask(
        "SELECT DISTINCT json_extract(job, '$.measure') FROM replay_jobs"
    )
    assert len(settings) == 1
