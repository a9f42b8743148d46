"""References and graphs between hosts: kept if they are whole, sent if a cell needs them."""

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy
import pytest

from orchestrator.fleet.messages import Shared
from orchestrator.fleet.shared_artifacts import (
    SENT_BYTES,
    artifacts_at_hand,
    content_of,
    keep_artifact,
    known_artifacts,
    wanted_artifacts,
)
from orchestrator.running.run_file import RunFile
from runner.contract.cell import Cell
from runner.contract.graph import DYNAMIC, GRAPH_FILE
from runner.contract.models import catalogue
from tests.support.fakes import save_graph
from tests.support.hostile import zip_of
from tests.support.jobs import fake_cell
from tests.support.runs import SOMEWHERE, a_plan, a_run_folder


@dataclass(frozen=True)
class Ordered:
    """A run of one cell that executes a graph and is verified, and a host that measured it."""

    run: RunFile
    cell: Cell
    results: Path
    """The driver's."""
    host: Path
    """The host's."""

    def made(self, kind: str) -> tuple[Shared, bytes]:
        """What the host has made."""
        shared = next(one for one in self.wanted if one.folder == kind)
        if kind == "references":
            a_reference(self.host / kind / shared.path[0])
        else:
            job = self.run.job([self.cell], SOMEWHERE)
            save_graph(self.host.joinpath(kind, *shared.path), job)
        content = content_of(self.host, shared)
        assert content is not None
        return shared, content

    @property
    def wanted(self) -> dict[Shared, Cell]:
        return wanted_artifacts(self.run, [self.cell])

    def known(self, *without: Shared) -> list[tuple[Shared, bytes]]:
        return list(known_artifacts(self.results, self.run, [self.cell], without))


@pytest.fixture
def ordered(tmp_path: Path) -> Ordered:
    """An order of one cell; no artefact is at hand."""
    changes = {"model": "bert-tiny", "backend": "cpu", "runtime": "onnxruntime"}
    cell = fake_cell(1).model_copy(update=changes)
    plan = a_plan([cell], model=catalogue()["bert-tiny"])
    run = a_run_folder(tmp_path / "results", plan).run
    return Ordered(run, cell, tmp_path / "results", tmp_path / "host")


def a_reference(path: Path, value: float = 1.0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    numpy.savez(path, logits=numpy.full(3, value))


@pytest.mark.parametrize("kind", ["references", "graphs"])
def test_what_a_host_made_is_kept_and_sent_to_the_next(ordered: Ordered, kind: str) -> None:
    shared, content = ordered.made(kind)
    assert artifacts_at_hand(ordered.host) == {shared}
    assert ordered.known() == []
    keep_artifact(ordered.results, shared, content, ordered.wanted)
    ((sent, again),) = ordered.known()
    next_host = ordered.host.with_name("next")
    keep_artifact(next_host, sent, again)
    assert artifacts_at_hand(next_host) == {shared}
    assert ordered.known(shared) == []


@pytest.mark.parametrize("kind", ["references", "graphs"])
def test_what_is_here_already_stays(ordered: Ordered, kind: str) -> None:
    shared, content = ordered.made(kind)
    keep_artifact(ordered.results, shared, content)
    here = content_of(ordered.results, shared)
    keep_artifact(ordered.results, shared, content[:-1] + b"x")
    assert content_of(ordered.results, shared) == here


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def grown(content: bytes) -> bytes:
    return content + bytes(SENT_BYTES + (1 << 20))


def packed(content: bytes) -> bytes:
    """The same files in an archive that unpacks to more than it has."""
    files = {name: text + b" " * 10_000 for name, text in _files(content).items()}
    return zip_of(files, ZIP_DEFLATED)


def renamed(content: bytes) -> bytes:
    """The files would lie beside the folder."""
    return zip_of({f"../{name}": text for name, text in _files(content).items()})


def linked(content: bytes) -> bytes:
    """An entry called like a folder."""
    return zip_of({**_files(content), "..": b""})


def changed(content: bytes) -> bytes:
    """A file of another length than the graph says."""
    files = {name: text + b" " for name, text in _files(content).items() if name != GRAPH_FILE}
    return zip_of({**_files(content), **files})


def of_a_later_version(content: bytes) -> bytes:
    """An archive of a kind that nobody can read yet."""
    at = content.index(b"PK\1\2") + 6
    return content[:at] + b"\xff" + content[at + 1 :]


def of_another_model(content: bytes) -> bytes:
    files = _files(content)
    files[GRAPH_FILE] = files[GRAPH_FILE].replace(b"bert-tiny", b"bert-mini")
    return zip_of(files)


@pytest.mark.parametrize(
    ("kind", "lie"),
    [
        *(("references", lie) for lie in (cut, grown, packed, of_a_later_version)),
        *(("graphs", lie) for lie in (cut, grown, packed, renamed, linked, changed)),
        *(("graphs", lie) for lie in (of_a_later_version, of_another_model)),
    ],
)
def test_what_is_not_whole_is_dropped(
    ordered: Ordered, kind: str, lie: Callable[[bytes], bytes]
) -> None:
    shared, content = ordered.made(kind)
    keep_artifact(ordered.results, shared, lie(content), ordered.wanted)
    assert artifacts_at_hand(ordered.results) == set()
    assert not [path for path in (ordered.results / kind).rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "path",
    [
        ("references", "another.npz"),
        ("references", "another", "a.npz"),
        ("graphs", "another", DYNAMIC),
        ("graphs", "another"),
    ],
)
def test_what_the_order_does_not_need_is_dropped(ordered: Ordered, path: tuple[str, ...]) -> None:
    _, content = ordered.made(path[0])
    shared = Shared.model_validate({"folder": path[0], "path": path[1:]})
    keep_artifact(ordered.results, shared, content, ordered.wanted)
    assert artifacts_at_hand(ordered.results) == set()


def test_what_is_large_is_made_on_each_host(ordered: Ordered) -> None:
    shared, _ = ordered.made("references")
    with ordered.host.joinpath(shared.folder, *shared.path).open("r+b") as file:
        file.truncate(SENT_BYTES + 1)
    assert content_of(ordered.host, shared) is None


def _files(content: bytes) -> dict[str, bytes]:
    with ZipFile(BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
