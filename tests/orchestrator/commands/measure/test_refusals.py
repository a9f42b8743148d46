"""What is refused before anything is measured, made or removed; with a stack, see `tests/e2e`."""

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.backends.probes import ThisHost
from orchestrator.launchers.docker import DockerLauncher
from orchestrator.launchers.process import ProcessLauncher
from orchestrator.system.locks import FOLDER_VARIABLE
from runner.contract.errors import Unavailable
from tests.conftest import ROOT
from tests.support.command_line import complains, files
from tests.support.words import raises_words
from tests.support.workplace import Workplace

TWO_IMAGES = ("--image", "cpu=a:1", "--image", "cpu=a:2")


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--interleave"], 2, "--interleave: no baseline is named"),
        (["--threshold", "3%"], 2, "--threshold: no baseline is named"),
        (["--compare-to", "last", "--threshold", "much"], 2, "--threshold"),
        (["--compare-to", "last", "--interleave", "--verify-only"], 2, "--verify-only takes none"),
        (["--compare-to", "last", "--interleave"], 2, "--interleave needs images"),
        (["--compare-to", "./nowhere", "--interleave"], 2, "./nowhere: is no checkout of AccelM"),
        (["--compare-to", str(ROOT), "--interleave"], 2, "is the checkout that measures"),
        (["--compare-to", f"./{'x' * 5000}", "--interleave"], 2, "is no checkout of AccelMatrix"),
        ([*TWO_IMAGES], 2, "--image names two images of cpu: local processes have one version"),
        ([*TWO_IMAGES, "--compare-to", "last"], 2, "--image names two images of cpu, which are"),
        ([*TWO_IMAGES, "--image", "cpu=a:3"], 2, "--image: cpu has 3 images"),
        (["--compare-to", "nobody"], 2, "'nobody' is no run, snapshot, file or host"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_compared_is_refused_before_it_is_measured(
    measured: Workplace, options: list[str], code: int, words: str
) -> None:
    before = measured.run_folder
    complains(measured.run(*options), code, words)
    assert measured.run_folder == before


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--backend", "tpu"], 2, "--backend: 'tpu' is unknown; did you mean cpu?"),
        (
            ["--model", "bert"],
            2,
            "--model: 'bert' is a kind of model; did you mean bert-base-uncased, bert-tiny",
        ),
        (["--backend", "cpu", "--mode", "sleep"], 2, "--mode: 'sleep' is not one of"),
        (["--backend", "qnn", "--runtime", "torch"], 2, "none of qnn executes torch"),
        (["--save", "no/verified.json"], 6, "--save no/verified.json: cannot be written: No such"),
        (["--save", "."], 6, "--save .: cannot be written: Is a directory"),
        (
            ["--model", "bert-tiny", "--backend", "cpu", "--mode", "generation"],
            3,
            "generation is not possible with bert-tiny",
        ),
    ],
    ids=["backend", "model", "mode", "runtime", "no-folder", "a-folder", "nothing"],
)
def test_what_cannot_be_verified_is_refused_before_anything_is_made(
    place: Workplace, options: list[str], code: int, words: str
) -> None:
    before = files(place.folder)
    complains(place.do("verify", "--launcher", "process", *options), code, words)
    assert files(place.folder) == before


@pytest.mark.parametrize("backend", ["cuda", "rocm"])
def test_a_device_that_is_not_there_is_said_before_anything_is_held_or_built(
    place: Workplace, backend: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ThisHost, "nodes", lambda host, pattern: [])
    monkeypatch.setattr(ThisHost, "ask", lambda host, command: None)
    locks = tmp_path / "locks"
    place.environment[FOLDER_VARIABLE] = str(locks)
    asked = ("bench", "--model", "bert-tiny", "--backend", backend, "--launcher", "process")
    before = files(place.folder)
    words = f"backend {backend} has no device here: there is no "
    complains(place.do(*asked), 3, words, "hint: Make the device reachable (")
    assert files(place.folder) == before
    assert not locks.exists()
    planned = json.loads(place.do(*asked, "--dry-run", "--json").stdout)["cells"]
    assert [(cell["decision"], cell["status"]) for cell in planned] == [("skip", "unavailable")]


def test_a_launcher_refuses_a_device_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resumed run, a replay and a host of a fleet ask no plan."""
    monkeypatch.setattr(ThisHost, "nodes", lambda host, pattern: [])
    monkeypatch.setattr(ThisHost, "ask", lambda host, command: None)
    monkeypatch.setattr(ThisHost, "engine", lambda host: {})
    no_images: Any = None  # none is asked for
    for launcher in (ProcessLauncher(), DockerLauncher(no_images, no_images, host="test")):
        with raises_words(Unavailable, match="backend rocm has no device here"):
            launcher.prepare("rocm")


def test_a_matrix_that_executes_no_graph_has_nothing_to_prepare(place: Workplace) -> None:
    before = files(place.folder)
    done = place.do("run", "--prepare-only", "matrix.yaml", "--launcher", "process")
    complains(done, 3, "no cell of the plan executes a prepared graph", "hint: the runtimes")
    assert files(place.folder) == before


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
    assert listed.stdout.splitlines()[1].split() == [f"results/graphs/{old.name}", "graph", "3KiB"]
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
        (["--yes"], "--yes needs --prune"),
        (["matrix.yaml", "--label", "a=b"], "--label: cannot be combined with --prepare-only"),
        ([], "name a matrix file"),
    ],
)
def test_what_makes_no_sense_is_refused(place: Workplace, arguments: list[str], words: str) -> None:
    complains(place.do("run", "--prepare-only", *arguments), 2, words)


CELL = "fake-scripted-0-fp32-b1-s8-inference"


def test_an_unknown_result_is_told_with_the_nearest(measured: Workplace) -> None:
    before = files(measured.folder)
    nearest = f"did you mean {measured.run_folder.name}/{CELL}?"
    complains(measured.do("replay", f"last/{CELL}x"), 2, "is not a result in", nearest)
    complains(measured.do("replay", "nonsense"), 2, "'nonsense' is not a result in")
    assert files(measured.folder) == before


@pytest.mark.slow
def test_results_and_replays_go_where_they_are_sent_and_json_comes_alone(place: Workplace) -> None:
    where = ("--json", "--results", "elsewhere", "--database", "my.duckdb")
    done = place.do("--quiet", *place.run_arguments(*where))
    assert (done.returncode, done.stderr) == (0, "")
    assert (place.folder / "my.duckdb").exists()
    (run_file,) = place.folder.glob("elsewhere/*/run.json")
    data = json.loads(done.stdout)
    assert data["run_id"] == run_file.parent.name
    assert [row["status"] for row in data["results"]] == ["ok"] * 3
    done = place.do("--quiet", "replay", f"last/{CELL}", *where)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["now"]["status"] == "ok"
    assert len(list(place.folder.glob("elsewhere/*/run.json"))) == 2
    assert not (place.folder / "results").exists()
