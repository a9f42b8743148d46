"""What serves no more is found and removed; everything else stays."""

import errno
from pathlib import Path

import pytest

from orchestrator.commands.database.retention import StaleFile, find_stale_files, remove_stale_files
from orchestrator.running.artifacts.cache import hold_artifacts, versions_of
from runner.contract.artifact_keys import GRAPHS, REFERENCES, counts_key, graph_key, reference_key
from runner.contract.errors import StoreError
from tests.support.jobs import fake_model
from tests.support.runs import a_run_folder

MODEL = fake_model()
OLD_GRAPH = "scripted-forward-fp32-onnx1.0.0-torch1.0.0-0123456789abcdef"
OLD_REFERENCE = "scripted-forward-torch1.0.0-0123456789abcdef"
OLD_COUNTS = "scripted-counts-runner01234567-0123456789abcdef"
ANCIENT_REFERENCE = "0123456789abcdef" * 2


def current_graph(launcher: str, seed: int = 0) -> str:
    return graph_key(
        MODEL, "forward", "fp32", seed, versions_of(GRAPHS, in_images=launcher == "docker")
    )


def current_reference(launcher: str) -> str:
    return reference_key(
        MODEL, "generation", 0, versions_of(REFERENCES, in_images=launcher == "docker")
    )


def write(path: Path, size: int = 5) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    return path


def found(results: Path) -> set[str]:
    return {str(each.path.relative_to(results)) for each in find_stale_files(results)}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder with something of everything, links to the outside among it."""
    results, outside = tmp_path / "results", tmp_path / "outside"
    for name in (OLD_GRAPH, current_graph("docker"), current_graph("process", 7), "my-notes"):
        write(results / "graphs" / name / "dynamic" / "forward.onnx")
    for name in (OLD_REFERENCE, ANCIENT_REFERENCE, current_reference("docker"), "mine"):
        write(results / "references" / f"{name}.npz")
    write(results / "references" / f"{OLD_REFERENCE}.failed")
    write(results / "references" / f"{current_reference('process')}.failed")
    write(results / "references" / f".{OLD_REFERENCE}.npz.tmp")
    for name in (OLD_COUNTS, counts_key(MODEL), "mine"):
        write(results / "counts" / f"{name}.json")
    write(results / "preparations" / "mine.txt")
    a_run_folder(results / "preparations", run_id="20260101-000000-0000")
    a_run_folder(results, run_id="20260101-000000-0001")
    write(outside / "precious.onnx")
    (results / "graphs" / f"linked-{OLD_GRAPH}").symlink_to(outside)
    (results / "graphs" / OLD_GRAPH / "outside").symlink_to(outside)
    (results / "references" / f"linked-{OLD_REFERENCE}.npz").symlink_to(outside / "precious.onnx")
    return results


LEFTOVERS = {
    f"graphs/{OLD_GRAPH}",
    f"references/{OLD_REFERENCE}.npz",
    f"references/{OLD_REFERENCE}.failed",
    f"references/.{OLD_REFERENCE}.npz.tmp",
    f"references/{ANCIENT_REFERENCE}.npz",
    f"counts/{OLD_COUNTS}.json",
    "preparations/20260101-000000-0000",
}


def test_what_no_present_code_uses_is_found_and_nothing_else(results: Path) -> None:
    assert found(results) == LEFTOVERS


def test_each_has_its_kind_and_size(results: Path) -> None:
    write(results / "graphs" / OLD_GRAPH / "b1-s8" / "forward.onnx", 7)
    link = (results / "graphs" / OLD_GRAPH / "outside").lstat().st_size
    first, second = find_stale_files(results)[:2]
    assert (first.kind, first.path.name) == ("graph", OLD_GRAPH)
    assert first.size_bytes in {12, 12 + link}
    assert second == StaleFile("reference", results / "references" / f".{OLD_REFERENCE}.npz.tmp", 5)


def test_removing_leaves_all_the_rest(results: Path) -> None:
    before = {path for path in results.rglob("*") if path.is_file()}
    removed = {results / name for name in LEFTOVERS}
    remove_stale_files(results, note=print)
    after = {path for path in results.rglob("*") if path.is_file()}
    gone = {path for path in before if removed & {path, *path.parents}}
    assert after == before - gone
    assert found(results) == set()
    assert (results.parent / "outside/precious.onnx").exists()


def test_a_folder_that_is_a_link_is_left_alone(results: Path) -> None:
    elsewhere = results.parent / "elsewhere"
    (results / "graphs").rename(elsewhere)
    (results / "graphs").symlink_to(elsewhere)
    remove_stale_files(results, note=print)
    assert (elsewhere / OLD_GRAPH).exists()


def test_without_results_there_is_nothing(tmp_path: Path) -> None:
    assert find_stale_files(tmp_path / "results") == []
    assert remove_stale_files(tmp_path, note=print) == []


def test_it_removes_nothing_while_somebody_else_makes_or_reads(results: Path) -> None:
    class Waited(Exception):
        """Raised instead of waiting."""

    def note(text: str) -> None:
        assert text.startswith("waiting for device cpu, held by a run")
        raise Waited

    with hold_artifacts("a run", note=print), pytest.raises(Waited):
        remove_stale_files(results, note)
    assert found(results) == LEFTOVERS


def test_what_cannot_be_removed_is_told(results: Path) -> None:
    def refuses(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    with pytest.raises(StoreError, match=r"graphs/scripted-.*: cannot be removed: Permission"):
        remove_stale_files(results, print, refuses)
