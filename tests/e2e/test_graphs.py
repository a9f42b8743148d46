"""Prepared graphs from the command line to the database: exported once, executed by two."""

import json
from pathlib import Path

import pytest

from tests.support.workplace import Workplace

pytestmark = pytest.mark.slow
MATRIX = """
version: 1
axes: {model: bert-micro, backend: [cpu, openvino], batch_size: [1, 2], sequence_length: 16}
backends: {cpu: {axes: {runtime: onnxruntime}}}
measure:
  {profile: quick, iterations: 3, min_duration: 0s, max_duration: 300ms, warmup_max_duration: 200ms}
"""
EXECUTED = """
SELECT backend, runtime, batch_size, status, reason, proof, correct, graph, graph_remedy
FROM benchmark_results ORDER BY cell_id
"""


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    """A user's folder in which one graph was prepared for both runtimes and all shapes."""
    place = Workplace(tmp_path_factory.mktemp("graphs"), "process")
    (place.folder / "matrix.yaml").write_text(MATRIX)
    done = place.do("run", "matrix.yaml", "--prepare-only", "--launcher", "process", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (prepared,) = json.loads(done.stdout)
    names = ("model", "content", "numbers", "shape", "failure")
    values = [prepared[name] for name in names]
    assert values == ["bert-micro", "forward", "fp32", "dynamic", None]
    assert prepared["difference_relative"] < 1e-4
    return place


@pytest.fixture(scope="module")
def measured(user: Workplace) -> Workplace:
    """The same after a run."""
    planned = user.do("plan", "matrix.yaml", "--launcher", "process").stdout
    assert "exported first" not in planned
    done = user.do("run", "matrix.yaml", "--launcher", "process")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "exporting" not in done.stderr
    return user


def files(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_preparing_again_exports_nothing(user: Workplace) -> None:
    before = files(user.folder / "results/graphs")
    done = user.do("run", "matrix.yaml", "--prepare-only", "--launcher", "process")
    assert done.returncode == 0
    assert "exporting" not in done.stderr
    assert "1 of 1 graphs at hand" in done.stdout
    assert files(user.folder / "results/graphs") == before


def test_both_runtimes_execute_that_graph_and_are_right(measured: Workplace) -> None:
    rows = measured.ask(EXECUTED)
    paths = [(row["backend"], row["runtime"], row["batch_size"]) for row in rows]
    runtimes = (("cpu", "onnxruntime"), ("openvino", "openvino"))
    assert paths == [(*names, batch_size) for names in runtimes for batch_size in (1, 2)]
    verdicts = {(row["status"], row["proof"], row["correct"]) for row in rows}
    assert verdicts == {("ok", "proven", True)}
    assert len({row["graph"] for row in rows}) == 1
    assert all(row["graph_remedy"] for row in rows)


def test_verify_prints_models_by_paths_and_saves_its_verdicts(measured: Workplace) -> None:
    options = ["--model", "bert-micro", "--backend", "cpu,openvino", "--mode", "inference"]
    others = ["--runtime", "onnxruntime,openvino", "--launcher", "process"]
    done = measured.do("verify", *options, *others, "--save", "verified.json")
    assert done.returncode == 0, done.stderr
    head, row = (line.split() for line in done.stdout.splitlines()[:2])
    assert head == ["model", "mode", "cpu", "onnxruntime", "openvino"]
    assert row == ["bert-micro", "inference", "ok", "ok"]
    saved = json.loads((measured.folder / "verified.json").read_text())
    assert {cell["mark"] for cell in saved["cells"]} == {"ok"}
    assert {"onnxruntime", "openvino"} <= set(saved["libraries"])
    seen = measured.ask("SELECT DISTINCT purpose FROM benchmark_results ORDER BY purpose")
    assert [row["purpose"] for row in seen] == ["measure", "verify"]
