"""The version of a baseline follows from its records, or is refused with the reason."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.commands.measure.baselines import find_baseline, left_out, version_of
from orchestrator.commands.measure.interleave import report_pairs
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.launchers.registry import Pinned
from orchestrator.running.merge_run import merge_run
from orchestrator.running.options import ChosenImage, RunOptions
from orchestrator.screen.words.reasons import error_hint
from orchestrator.store.health.snapshots import take_snapshot
from orchestrator.store.store import Store
from runner.contract.errors import BenchError, ImageError, NothingToDo, UsageError
from runner.contract.job import Provenance
from tests.support.checkout import do, with_python
from tests.support.jobs import fake_cell
from tests.support.records import record_for
from tests.support.runs import WEIGHTS_SEED, a_plan, a_run_folder
from tests.support.weights import BERT, TENSORS, write_safetensors

DIGESTS = [f"sha256:{digit * 64}" for digit in "012"]
GRAPH = "scripted-forward-fp32-torch1-runner0"
CELLS = [fake_cell(2**power) for power in range(4)]


def in_image(digest: str) -> Provenance:
    names = {"launcher": "docker", "orchestrator_version": "0"}
    return Provenance(**names, image="accelmatrix-cpu:1", image_digest=digest)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two runs in two images, one in both, and one by processes; a snapshot before the last."""
    results = tmp_path_factory.mktemp("site") / "results"
    process = Provenance(launcher="process", orchestrator_version="0")
    runs = {
        "run-1": [(cell, in_image(DIGESTS[0])) for cell in CELLS[:2]],
        "run-2": [(cell, in_image(DIGESTS[1])) for cell in CELLS[:3]],
        "run-3": list(zip(CELLS[:2], map(in_image, DIGESTS), strict=False)),
        "run-4": [(CELLS[3], process)],
    }
    for run_id, measured in runs.items():
        folder = a_run_folder(results, a_plan([cell for cell, _ in measured]), run_id)
        for cell, provenance in measured:
            job = folder.run.job([cell], provenance).model_copy(update={"graph": GRAPH})
            folder.save(record_for(job, cell))
        merge_run(folder, results / "benchmarks.duckdb")
        if run_id == "run-2":
            take_snapshot(results / "benchmarks.duckdb", results / "snapshots", "before", None)
    with Store.open_readonly(results / "benchmarks.duckdb"):
        yield results


def found(site: Path, word: str, *cells: int) -> Any:
    """What a word names of these cells, and the plan of them."""
    plan = a_plan([CELLS[index] for index in cells])
    return find_baseline(word, site / "benchmarks.duckdb", site, plan), plan


@pytest.mark.parametrize(
    ("word", "label", "digest"),
    [("run-1", "run-1", 0), ("run-2", "run-2", 1), ("before", "before", 1)],
)
def test_records_name_the_image_and_the_graph(
    site: Path, word: str, label: str, digest: int
) -> None:
    baseline, plan = found(site, word, 0, 1)
    version = version_of(baseline, plan, WEIGHTS_SEED)
    assert baseline.label == label
    assert version.images == (Pinned("fake", "accelmatrix-cpu:1", DIGESTS[digest]),)
    assert version.graphs == {cell.id: GRAPH for cell in CELLS[:2]}


def test_last_is_the_newest_run_that_measured_one_of_the_cells(site: Path) -> None:
    assert [found(site, "last", index)[0].label for index in (0, 2, 3)] == [
        *("run-3", "run-2", "run-4")
    ]


def test_a_graph_of_other_weights_is_not_taken(site: Path) -> None:
    baseline, plan = found(site, "run-1", 0)
    assert version_of(baseline, plan, WEIGHTS_SEED + 1).graphs == {}


def test_cells_that_it_did_not_measure_are_counted(site: Path) -> None:
    baseline, plan = found(site, "run-1", 0, 1, 2, 3)
    ids = [entry.cell.id for entry in plan.entries]
    assert set(baseline.records) == {cell.id for cell in CELLS[:2]}
    assert left_out(baseline, ids) == (
        f"2 cells left out, which run-1 did not measure: {CELLS[2].id} and others"
    )
    assert left_out(baseline, ids[:2]) is None


@pytest.mark.parametrize(
    ("word", "cells", "error", "words"),
    [
        ("run-1", [3], NothingToDo, "run-1 measured none of the 1 cells"),
        ("run-9", [0], UsageError, "'run-9' is not a run"),
        ("run-4", [3], ImageError, "run-4: .* measured by a local process, so its record names no"),
        ("run-3", [0, 1], UsageError, "run-3 measured fake in two images: sha256:0.*sha256:1"),
    ],
)
def test_what_cannot_be_measured_again_is_told(
    site: Path, word: str, cells: list[int], error: type[BenchError], words: str
) -> None:
    with pytest.raises(error, match=words) as refusal:
        version_of(*found(site, word, *cells), WEIGHTS_SEED)
    assert error_hint(refusal.value)


MATRIX = """
version: 1
axes:
  model: [models.yaml{more}]
  backend: cpu
  batch_size: [1, 2]
"""
MODELS = """
- {{name: ours, family: embedding, size: tiny, modality: text,
    config: {{num_hidden_layers: {layers}}}}}
- {{name: same, family: embedding, size: tiny, modality: text}}
"""


def repository(folder: Path, layers: int, more: str = "") -> Path:
    """A version of somebody's repository: a matrix and the models beside it."""
    folder.mkdir()
    (folder / "models.yaml").write_text(MODELS.format(layers=layers))
    (folder / "matrix.yaml").write_text(MATRIX.format(more=more))
    return folder / "matrix.yaml"


def request(matrix: Path, results: Path) -> PlanRequest:
    return PlanRequest(matrix, results=results, options=RunOptions(launcher="process"))


def test_the_cells_of_changed_models_are_measured_in_both_versions(tmp_path: Path) -> None:
    base = repository(tmp_path / "base", layers=2)
    head = repository(tmp_path / "head", layers=4, more=", gpt2")
    plan = report_pairs(request(head, tmp_path / "results"), str(base)).plan
    due = [entry.cell.id for entry in plan.with_decision("run")]
    assert due == ["cpu-ours-fp32-b1-s128-inference", "cpu-ours-fp32-b2-s128-inference"]
    (group,) = plan.groups
    assert (group.jobs, group.looks) == (("cpu-ours-fp32-inference",), (6, 12, 24))
    left, rounds = plan.notes[-2:]
    assert left == f"4 cells left out, which {base} has not, or with the same model"
    assert rounds == f"6 to 24 rounds side by side with {base}: its ours"


def test_each_job_has_rounds_with_its_own_counterpart_alone(tmp_path: Path) -> None:
    paths = "  runtime: [torch, onnxruntime, torch_compile]\n  mode: [inference, startup]\n"
    texts = [repository(tmp_path / name, layers) for name, layers in (("base", 2), ("head", 4))]
    for path in texts:
        path.write_text(f"{path.read_text()}{paths}measure: {{profile: quick}}\n")
    report = report_pairs(request(texts[1], tmp_path / "results"), str(texts[0]))
    groups = {group.jobs: group.together for group in report.plan.groups}
    together = ["cpu-ours-fp32-inference", "cpu-onnxruntime-ours-fp32-inference"]
    assert [job for (job,), loaded in groups.items() if loaded] == together
    assert {group.versions for group in report.plan.groups} == {2}
    assert len({group.name for group in report.plan.groups}) == len(groups) == 9
    assert [note.partition(": ")[0] for note in report.plan.notes[-3:]] == [
        f"6 to 24 rounds side by side with {texts[0]}",
        "launches of both versions take turns, since a cold start needs the machine for itself",
        "launches of both versions take turns, since torch_compile compiles anew at each launch",
    ]
    assert not any("jobs are measured" in note for note in report.plan.notes)
    assert f"in 9 jobs (at least {9 * 6 * 2} launches)" in report.sums()


@pytest.mark.parametrize(
    ("layers", "select", "message"),
    [(2, (), "has the same models"), (4, ("*gpt2*",), "has none of the cells")],
)
def test_without_a_difference_there_is_nothing_to_measure(
    tmp_path: Path, layers: int, select: tuple[str, ...], message: str
) -> None:
    base = repository(tmp_path / "base", layers=2)
    head = repository(tmp_path / "head", layers=layers, more=", gpt2")
    chosen = PlanRequest(head, select=select, results=tmp_path / "results")
    with pytest.raises(NothingToDo, match=message):
        report_pairs(chosen, str(base))


def test_a_matrix_that_is_wrong_is_named(tmp_path: Path) -> None:
    head = repository(tmp_path / "head", layers=4)
    with pytest.raises(UsageError, match=r"base\.yaml"):
        report_pairs(request(head, tmp_path / "results"), str(tmp_path / "base.yaml"))


def weighty(folder: Path, *shards: tuple[str, ...], fill: int = 0) -> Path:
    """A checkout whose model is a folder with weights, in these files."""
    config = BERT | {"architectures": ["BertForMaskedLM"], "_name_or_path": str(folder)}
    (folder / "encoder").mkdir(parents=True)
    (folder / "encoder/config.json").write_text(json.dumps(config))
    for number, names in enumerate(shards):
        path = folder / f"encoder/model-{number}.safetensors"
        write_safetensors(path, {name: TENSORS[name] for name in names}, fill)
    axes = {"model": "./encoder", "backend": "cpu", "sequence_length": 8}
    (folder / "matrix.yaml").write_text(json.dumps({"version": 1, "axes": axes}))
    return folder / "matrix.yaml"


def test_equal_weights_in_two_checkouts_leave_nothing_to_measure(tmp_path: Path) -> None:
    first, *rest = TENSORS
    base = weighty(tmp_path / "base", tuple(TENSORS))
    head = weighty(tmp_path / "head", tuple(rest), (first,))
    with pytest.raises(NothingToDo, match="has the same models") as refusal:
        report_pairs(request(head, tmp_path / "results"), str(base))
    assert refusal.value.exit_code == 3
    other = weighty(tmp_path / "other", tuple(TENSORS), fill=1)
    plan = report_pairs(request(head, tmp_path / "results"), str(other)).plan
    assert plan.notes[-1] == f"6 to 24 rounds side by side with {other}: its encoder"


def other_checkout(folder: Path) -> Path:
    """A folder that is taken for another checkout, in a repository with a commit."""
    (folder / "runner").mkdir(parents=True)
    (folder / "runner/__main__.py").touch()
    (folder / ".gitignore").write_text(".venv\n")
    do(folder, "git", "init", "--quiet")
    do(folder, "git", "add", "--all")
    who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@localhost")
    do(folder, "git", *who, "commit", "--quiet", "--message=first")
    return with_python(folder, "exit 1")


def test_another_checkout_measures_all_cells(tmp_path: Path) -> None:
    base = other_checkout(tmp_path / "base")
    commit = do(base, "git", "rev-parse", "HEAD")[:12]
    asked = request(repository(tmp_path / "head", layers=2), tmp_path / "results")
    report = report_pairs(asked, str(base))
    assert report.plan.notes[-1] == f"6 to 24 rounds side by side with {base}: commit {commit}"
    assert [len(group.jobs) for group in report.plan.groups] == [1, 1]
    (base / "runner/__main__.py").write_text("pass\n")
    assert report_pairs(asked, str(base)).plan.notes[-1].endswith(f": commit {commit}-dirty")


def test_a_word_without_a_slash_is_a_snapshot_before_it_is_a_folder(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_checkout(tmp_path / "before")
    other_checkout(tmp_path / "run-9")
    asked = PlanRequest(repository(tmp_path / "head", layers=2), results=site)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NothingToDo, match="before measured none of the"):
        report_pairs(asked, "before")
    for word in ("./before", "run-9"):
        assert f"side by side with {word}: commit" in report_pairs(asked, word).plan.notes[-1]


def test_a_checkout_is_not_measured_in_containers(tmp_path: Path) -> None:
    base = other_checkout(tmp_path / "base")
    head = repository(tmp_path / "head", layers=2)
    options = RunOptions(launcher="docker")
    with pytest.raises(UsageError, match="measured by local processes") as refusal:
        report_pairs(PlanRequest(head, results=tmp_path, options=options), str(base))
    assert "--launcher docker" in str(refusal.value.hint)
    with pytest.raises(UsageError, match="is no checkout of AccelMatrix"):
        report_pairs(PlanRequest(head, results=tmp_path), f"{tmp_path}/head")


def two_images(*backends: Any) -> RunOptions:
    names = [
        ChosenImage(backend, f"me/{backend}:{number}") for backend in backends for number in "12"
    ]
    return RunOptions(image=names)


def test_the_second_image_of_a_backend_is_measured_beside_the_first(tmp_path: Path) -> None:
    matrix = tmp_path / "matrix.yaml"
    axes = "axes: {model: bert-tiny, backend: [cpu, openvino], batch_size: [1, 2]}"
    matrix.write_text(f"version: 1\n{axes}\n")
    options = two_images("cpu")
    asked = PlanRequest(matrix, results=tmp_path / "results", options=options)
    plan = report_pairs(asked, options.first_images).plan
    assert {entry.cell.backend for entry in plan.with_decision("run")} == {"cpu"}
    assert plan.notes[-2:] == (
        "2 cells left out, whose backend has one image",
        "6 to 24 rounds side by side with the first image: cpu in me/cpu:1",
    )
    assert options.images == {"cpu": "me/cpu:2"}
    elsewhere = two_images("cuda").first_images
    with pytest.raises(NothingToDo, match="no cell is measured on cuda"):
        report_pairs(asked, elsewhere)
