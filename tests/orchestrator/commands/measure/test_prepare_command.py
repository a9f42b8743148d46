"""`run --prepare-only` without a stack: what it refuses; with one, `tests/e2e/test_graphs.py`."""

import json

import pytest

from tests.support.command_line import complains, files
from tests.support.workplace import Workplace


def test_a_matrix_that_executes_no_graph_has_nothing_to_prepare(place: Workplace) -> None:
    before = files(place.folder)
    done = place.do("run", "--prepare-only", "matrix.yaml", "--launcher", "process")
    complains(done, 3, "no cell of the plan executes a prepared graph", "hint: the runtimes")
    assert files(place.folder) == before


def test_a_matrix_whose_graphs_nothing_executes_says_why(place: Workplace) -> None:
    (place.folder / "long.yaml").write_text(
        "version: 1\naxes: {model: gpt2, runtime: onnxruntime, sequence_length: 5000}\n"
    )
    done = place.do("run", "--prepare-only", "long.yaml", "--launcher", "process")
    complains(done, 3, "none of the 1 cells can run: gpt2 takes at most 1024 tokens, not 5000")


def test_a_plan_counts_the_exports_of_its_run(place: Workplace) -> None:
    (place.folder / "graphs.yaml").write_text(
        "version: 1\naxes: {model: bert-tiny, runtime: [torch, onnxruntime], batch_size: [1, 8]}\n"
    )
    told = place.do("plan", "graphs.yaml").stdout
    assert "note: 1 graph is exported first, in about " in told
    data = json.loads(place.do("plan", "graphs.yaml", "--format", "json").stdout)
    assert [graph["model"] for graph in data["exports"]] == ["bert-tiny"]


def test_what_serves_no_more_is_listed_and_removed_when_asked(place: Workplace) -> None:
    old = place.folder / "results/graphs" / f"bert-tiny-forward-fp32-torch1.0.0-{'0' * 16}"
    (old / "dynamic").mkdir(parents=True)
    (old / "dynamic/forward.onnx").write_bytes(bytes(3 << 10))
    listed = place.do("run", "--prepare-only", "--prune")
    assert listed.returncode == 0, listed.stderr
    assert listed.stdout.splitlines()[1].split() == [
        f"results/graphs/{old.name}",
        "graph",
        "3KiB",
    ]
    assert old.exists()
    removed = place.do("run", "--prepare-only", "--prune", "--yes", "--json")
    path = f"results/graphs/{old.name}"
    assert json.loads(removed.stdout) == [
        {"kind": "graph", "path": path, "size_bytes": 3 << 10, "removed": True}
    ]
    assert not old.exists()
    assert place.do("run", "--prepare-only", "--prune").stdout == "there is nothing to remove\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["matrix.yaml", "--prune"], "MATRIX: cannot be combined with --prune"),
        (["--prune", "--limit", "1"], "--limit: cannot be combined with --prune"),
        (["--yes"], "--yes needs --prune"),
        (["matrix.yaml", "--label", "a=b"], "--label: cannot be combined with --prepare-only"),
        (["--resume", "last"], "--resume: cannot be combined with --prepare-only"),
        ([], "name a matrix file"),
        (["matrix.yaml", "--set", "axes.precision=fp17"], "'fp17' is unknown; did you mean fp16?"),
    ],
)
def test_what_makes_no_sense_is_refused(place: Workplace, arguments: list[str], words: str) -> None:
    complains(place.do("run", "--prepare-only", *arguments), 2, words)


def test_options_of_preparing_need_it(place: Workplace) -> None:
    complains(place.do("run", "--prune"), 2, "--prune needs --prepare-only")
