"""What is verified, what is timed, and what a trace leaves: with bert-tiny by process."""

import json
from pathlib import Path

import pytest

from tests.support.workplace import Workplace

pytestmark = [pytest.mark.torch, pytest.mark.slow]
MATRIX = """
version: 1
axes: {model: bert-tiny, precision: [fp32], batch_size: 1, sequence_length: 16}
measure: {iterations: 3, min_duration: 0s, max_duration: 1s, warmup_max_duration: 200ms}
"""
TIMED = "latency_median_s IS NOT NULL AS timed, correct, correct_reason, purpose, proof"


@pytest.fixture
def place(place: Workplace) -> Workplace:
    """A user's folder."""
    (place.folder / "matrix.yaml").write_text(MATRIX)
    return place


def measure(place: Workplace, *options: str) -> str:
    done = place.do("run", "matrix.yaml", "--launcher", "process", *options)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def references(place: Workplace) -> dict[str, int]:
    found = place.folder.glob("results/references/*")
    return {path.name: path.stat().st_mtime_ns for path in found}


def test_verifying_alone_says_correct_and_gives_no_number(place: Workplace) -> None:
    said = measure(place, "--verify-only", "--set", "axes.precision=fp32,bf16")
    assert said.count("computing the fp32 reference of bert-tiny") == 1
    rows = place.ask(f"SELECT {TIMED} FROM benchmark_results")
    assert [(row["timed"], row["correct"], row["purpose"]) for row in rows] == [
        (False, True, "verify")
    ] * 2
    assert place.ask("SELECT * FROM benchmark_performance") == []
    kept = references(place)
    assert [Path(name).suffix for name in kept] == [".npz"]
    assert "computing" not in measure(place, "--verify-only")
    assert references(place) == kept


def test_timing_alone_needs_no_reference(place: Workplace) -> None:
    measure(place, "--no-verify")
    (row,) = place.ask(f"SELECT {TIMED} FROM benchmark_results")
    assert (row["timed"], row["correct"], row["purpose"]) == (True, None, "time")
    assert row["correct_reason"] == "not verified: --no-verify"
    assert references(place) == {}
    (shown,) = place.ask("SELECT correct FROM benchmark_performance")
    assert shown["correct"] is None


def test_a_trace_lies_beside_its_record_and_is_named(place: Workplace) -> None:
    said = measure(place, "--trace", "--no-verify")
    (trace,) = place.run_folder.glob("records/*/*.trace.json")
    assert json.loads(trace.read_text())["traceEvents"]
    assert trace.with_name(trace.name.replace(".trace.json", ".operators.txt")).read_text()
    assert f"trace: {trace.relative_to(place.folder)}" in said
    assert len(place.records()) == 1


def test_what_a_run_is_for_survives_resuming(place: Workplace) -> None:
    options = ["--launcher", "process", "--verify-only", "--budget", "0s"]
    assert place.do("run", "matrix.yaml", *options).returncode == 3
    assert place.do("run", "--resume", "last").returncode == 0
    (row,) = place.ask(f"SELECT {TIMED} FROM benchmark_results")
    assert (row["timed"], row["correct"], row["purpose"]) == (False, True, "verify")


def test_a_result_measured_again_stands_beside_the_first(place: Workplace) -> None:
    measure(place)
    done = place.do("replay", "last/cpu-bert-tiny-fp32-b1-s16-inference", "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    then, now = data["then"], data["now"]
    assert (then["cell_id"], then["correct"]) == (now["cell_id"], now["correct"])
    assert data["ratio"] > 0
    assert {"intervals_overlap", "differences"} <= set(data)
    settings = place.ask("SELECT DISTINCT json_extract(job, '$.measure') FROM replay_jobs")
    assert len(settings) == 1
