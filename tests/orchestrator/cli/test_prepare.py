"""`prepare` without a stack: what it refuses. With one, see `tests/e2e/test_graphs.py`."""

from tests.e2e.workplace import Workplace
from tests.orchestrator.cli.checks import complains, files


def test_a_matrix_that_executes_no_graph_has_nothing_to_prepare(place: Workplace) -> None:
    before = files(place.folder)
    done = place.do("prepare", "matrix.yaml", "--launcher", "process")
    complains(done, 3, "no cell of the plan executes a prepared graph", "hint: the runtimes")
    assert files(place.folder) == before


def test_a_matrix_whose_graphs_nothing_executes_says_why(place: Workplace) -> None:
    (place.folder / "long.yaml").write_text(
        "version: 1\naxes: {model: gpt2, runtime: onnxruntime, sequence_length: 5000}\n"
    )
    done = place.do("prepare", "long.yaml", "--launcher", "process")
    complains(done, 3, "none of the 1 cells can run: gpt2 takes at most 1024 tokens, not 5000")


def test_a_bad_matrix_is_refused(place: Workplace) -> None:
    done = place.do("prepare", "matrix.yaml", "--set", "axes.precision=fp17")
    complains(done, 2, "'fp17' is not one of fp32")


def test_a_plan_counts_the_exports_of_its_run(place: Workplace) -> None:
    (place.folder / "graphs.yaml").write_text(
        "version: 1\naxes: {model: bert-tiny, runtime: [torch, onnxruntime], batch_size: [1, 8]}\n"
    )
    told = place.do("plan", "graphs.yaml").stdout
    assert "note: 1 graph is exported first, in about " in told
