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
measure: {iterations: 3, min_duration: 0s, max_duration: 1s, warmup_max_duration: 200ms}
"""
EXECUTED = """
SELECT backend, runtime, batch_size, status, reason, proof, correct, graph, graph_remedy
FROM benchmark_results ORDER BY cell_id
"""


@pytest.fixture(scope="module")
def process_workplace(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    """A user's folder in which the graphs were prepared."""
    folder = tmp_path_factory.mktemp("graphs")
    (folder / "matrix.yaml").write_text(MATRIX)
    process_workplace = Workplace(folder, "process")
    done = process_workplace.do("prepare", "matrix.yaml", "--launcher", "process", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "prepared.json").write_text(done.stdout)
    return process_workplace


@pytest.fixture(scope="module")
def measured(process_workplace: Workplace) -> Workplace:
    """The same after a run."""
    done = process_workplace.do("run", "matrix.yaml", "--launcher", "process")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "exporting" not in done.stderr
    return process_workplace


def files(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_one_graph_is_prepared_for_both_runtimes_and_all_shapes(
    process_workplace: Workplace,
) -> None:
    (prepared,) = json.loads((process_workplace.folder / "prepared.json").read_text())
    assert (prepared["model"], prepared["content"]) == ("bert-micro", "forward")
    assert (prepared["numbers"], prepared["shape"]) == ("fp32", "dynamic")
    assert prepared["difference_relative"] < 1e-4
    assert prepared["failure"] is None


def test_preparing_again_exports_nothing(process_workplace: Workplace) -> None:
    before = files(process_workplace.folder / "results/graphs")
    done = process_workplace.do("prepare", "matrix.yaml", "--launcher", "process")
    assert done.returncode == 0
    assert "exporting" not in done.stderr
    assert "1 of 1 graphs at hand" in done.stdout
    assert files(process_workplace.folder / "results/graphs") == before


def test_both_runtimes_execute_that_graph_and_are_right(measured: Workplace) -> None:
    rows = measured.ask(EXECUTED)
    paths = [(row["backend"], row["runtime"], row["batch_size"]) for row in rows]
    assert paths == [
        ("cpu", "onnxruntime", 1),
        ("cpu", "onnxruntime", 2),
        ("openvino", "openvino", 1),
        ("openvino", "openvino", 2),
    ]
    assert {(row["status"], row["proof"], row["correct"]) for row in rows} == {
        ("ok", "proven", True)
    }
    assert len({row["graph"] for row in rows}) == 1
    assert all(row["graph_remedy"] for row in rows)


def test_the_plan_knows_that_the_graph_is_at_hand(measured: Workplace) -> None:
    planned = measured.do("plan", "matrix.yaml", "--launcher", "process").stdout
    assert "exported first" not in planned


def test_verify_prints_models_by_paths_and_saves_its_verdicts(measured: Workplace) -> None:
    options = ["--models", "bert-micro", "--backends", "cpu,openvino", "--modes", "inference"]
    others = ["--runtimes", "onnxruntime,openvino", "--launcher", "process"]
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
