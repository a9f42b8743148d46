"""Verification, timing and traces of bert-tiny by process."""

import json
from pathlib import Path

import pytest

from tests.support.workplace import Workplace

pytestmark = pytest.mark.slow
MATRIX = """
version: 1
axes: {model: bert-tiny, precision: [fp32], batch_size: 1, sequence_length: 16}
measure:
  {profile: quick, iterations: 3, min_duration: 0s, max_duration: 300ms, warmup_max_duration: 200ms}
"""
TIMED = "latency_median_s IS NOT NULL AS timed, correct, purpose"


@pytest.fixture
def user(user: Workplace) -> Workplace:
    """A user's folder."""
    (user.folder / "matrix.yaml").write_text(MATRIX)
    return user


def measure(workplace: Workplace, *options: str, code: int = 0) -> str:
    done = workplace.do("run", "matrix.yaml", "--launcher", "process", *options)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def result_of(workplace: Workplace) -> tuple[bool, bool | None, str]:
    """Of each of its results, which must agree: timed or not, correct or not, the purpose."""
    rows = workplace.ask(f"SELECT {TIMED} FROM benchmark_results")
    (result,) = {(row["timed"], row["correct"], row["purpose"]) for row in rows}
    return result


def references(user: Workplace) -> dict[str, int]:
    paths = user.folder.glob("results/references/*")
    return {path.name: path.stat().st_mtime_ns for path in paths}


def test_verifying_alone_says_correct_and_gives_no_number(user: Workplace) -> None:
    output = measure(user, "--verify-only", "--set", "axes.precision=bf16")
    assert output.count("computing the fp32 reference of bert-tiny") == 1
    assert result_of(user) == (False, True, "verify")
    assert len(user.records()) == 1
    assert user.ask("SELECT * FROM benchmark_performance") == []
    kept = references(user)
    assert [Path(name).suffix for name in kept] == [".npz"]
    assert "computing" not in measure(user, "--verify-only")
    assert references(user) == kept


def test_timing_alone_needs_no_reference_and_a_trace_lies_beside_its_record(
    user: Workplace,
) -> None:
    output = measure(user, "--trace", "--no-verify")
    assert result_of(user) == (True, None, "time")
    (row,) = user.ask("SELECT correct_reason FROM benchmark_results")
    assert row["correct_reason"] == "not verified: --no-verify"
    assert references(user) == {}
    (shown,) = user.ask("SELECT correct FROM benchmark_performance")
    assert shown["correct"] is None
    (trace,) = user.run_folder.glob("records/*/*.trace.json")
    assert json.loads(trace.read_text())["traceEvents"]
    assert trace.with_name(trace.name.replace(".trace.json", ".operators.txt")).read_text()
    assert f"trace: {trace.relative_to(user.folder)}" in output
    assert len(user.records()) == 1


@pytest.mark.nightly
def test_the_purpose_of_a_run_survives_resuming(user: Workplace) -> None:
    measure(user, "--verify-only", "--budget", "0s", code=3)
    assert user.do("run", "--resume", "last").returncode == 0
    assert result_of(user) == (False, True, "verify")


@pytest.mark.nightly
def test_a_result_measured_again_is_kept_beside_the_first(user: Workplace) -> None:
    measure(user)
    done = user.do("replay", "last/cpu-bert-tiny-fp32-b1-s16-inference", "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    then, now = data["then"], data["now"]
    assert (then["cell_id"], then["correct"]) == (now["cell_id"], now["correct"])
    assert data["ratio"] > 0
    assert {"intervals_overlap", "differences"} <= set(data)
    measure_of = "SELECT DISTINCT json_extract(job, '$.measure') FROM replay_jobs"
    assert len(user.ask(measure_of)) == 1
