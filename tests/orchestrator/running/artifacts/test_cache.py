"""What artifact jobs leave is looked at before it is taken, and named by what made it."""

import os
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from queue import Queue
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from orchestrator.launchers.base import Exit
from orchestrator.running.artifacts.cache import is_reference, versions_of
from runner.contract.artifact_keys import GRAPHS, REFERENCES, Producer, fingerprint
from runner.contract.graph import Graph
from runner.contract.job import Job
from tests.orchestrator.running.artifacts import test_graphs, test_references
from tests.support.fakes import computes_the_reference, exports_the_graph, finish

PINS = """
# a comment
onnx-ir==1.1.0
onnx==1.23.2
torch==2.13.0; platform_machine == "x86_64"
numpy==2.4.6
"""
CODE = {"runner": fingerprint(GRAPHS)}

both = pytest.mark.parametrize("producer", [GRAPHS, REFERENCES])


def test_containers_have_what_their_image_is_built_from(tmp_path: Path) -> None:
    pins = tmp_path / "requirements.txt"
    pins.write_text(PINS)
    assert (
        versions_of(GRAPHS, in_images=True, pins=pins)
        == {"onnx": "1.23.2", "torch": "2.13.0"} | CODE
    )


@both
def test_the_checkouts_pins_name_every_library(producer: Producer) -> None:
    assert set(versions_of(producer, in_images=True)) == {*producer.libraries, "runner"}


@both
def test_processes_have_what_is_installed(producer: Producer) -> None:
    libraries = versions_of(producer, in_images=False)
    assert libraries.pop("runner") == fingerprint(producer)
    assert set(libraries) <= set(producer.libraries)
    assert all(version(name).partition("+")[0] == told for name, told in libraries.items())


SECRET = "the host's own words"
Attack = Callable[[Path, Job], object]


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file of the host that no job may read, change or have printed."""
    path = tmp_path / "secret"
    path.write_text(SECRET)
    return path


def packed(path: Path) -> None:
    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        file.writestr("outputs.npy", b"\0" * 10_000_000)


def npz(out: Path, job: Job) -> Path:
    return out / f"{job.reference}.npz"


REFERENCE_ATTACKS: dict[str, Attack] = {
    "a link": lambda out, job: npz(out, job).symlink_to(out.parent.parent / "secret"),
    "a FIFO": lambda out, job: os.mkfifo(npz(out, job)),
    "a folder": lambda out, job: npz(out, job).mkdir(),
    "a bomb": lambda out, job: packed(npz(out, job)),
    "no zip": lambda out, job: npz(out, job).write_bytes(b"PK\3\4" + b"\xff" * 100),
    "a link as reason": lambda out, job: (out / f"{job.reference}.failed").symlink_to(
        out.parent.parent / "secret"
    ),
    "a reason that steers the terminal": lambda out, job: (
        out / f"{job.reference}.failed"
    ).write_bytes(b"\x1b[2J\xff" + b"x" * 100_000),
    "another's": lambda out, job: (out / "another.npz").write_bytes(b"PK"),
    "closed": lambda out, job: out.chmod(0),
}


@pytest.mark.parametrize("attack", REFERENCE_ATTACKS.values(), ids=REFERENCE_ATTACKS)
def test_a_reference_job_leaves_its_own_reference_or_none(
    tmp_path: Path, secret: Path, attack: Attack
) -> None:
    def hostile(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        attack(out, job)
        return finish(lines)

    folder = tmp_path / "references"
    folder.mkdir()
    (folder / "another.npz").write_bytes(b"somebody's")
    trial = test_references.Trial(tmp_path)
    trial.launcher.reference_script = hostile
    trial.ensure()
    failed = trial.file("failed")
    assert {path.name for path in folder.iterdir()} == {"another.npz", failed.name}
    assert (folder / "another.npz").read_bytes() == b"somebody's"
    said = failed.read_text() + "".join(trial.observer.notes)
    assert SECRET not in said
    assert "\x1b" not in said
    assert len(said) < 30_000
    assert secret.read_text() == SECRET


def test_a_link_in_the_place_of_a_reference_is_replaced(tmp_path: Path, secret: Path) -> None:
    trial = test_references.Trial(tmp_path)
    trial.launcher.reference_script = computes_the_reference
    for suffix in ("npz", "failed"):
        trial.file(suffix).parent.mkdir(exist_ok=True)
        trial.file(suffix).symlink_to(secret)
    trial.ensure()
    assert is_reference(trial.file("npz"))
    assert not trial.file("failed").is_symlink()
    assert secret.read_text() == SECRET


def dynamic(out: Path, job: Job) -> Path:
    return out / str(job.graph) / "dynamic"


def linked(name: str) -> Attack:
    def attack(out: Path, job: Job) -> None:
        path = dynamic(out, job) / name
        path.unlink()
        path.symlink_to(out.parent.parent / "secret")

    return attack


def rewritten(*, to: str) -> Attack:
    """The graph tells another file, which has as many bytes as the secret."""

    def attack(out: Path, job: Job) -> None:
        path = dynamic(out, job) / "graph.json"
        graph = Graph.model_validate_json(path.read_bytes())
        part = graph.parts["forward"].model_copy(update={"file": to, "size_bytes": len(SECRET)})
        path.write_text(graph.model_copy(update={"parts": {"forward": part}}).model_dump_json())

    return attack


def elsewhere(out: Path, job: Job) -> None:
    folder = dynamic(out, job).parent
    folder.rename(out / "mine")
    folder.symlink_to(out / "mine")


def other_model(out: Path, job: Job) -> None:
    path = dynamic(out, job) / "graph.json"
    path.write_text(path.read_text().replace("scripted", "precious"))


GRAPH_ATTACKS: dict[str, Attack] = {
    "a linked file": linked("forward.onnx"),
    "a linked description": linked("graph.json"),
    "a path upwards": rewritten(to="../../../secret"),
    "an absolute path": rewritten(to="/etc/hostname"),
    "another model's": other_model,
    "a linked folder": elsewhere,
    "a FIFO": lambda out, job: (
        (dynamic(out, job) / "forward.onnx").unlink(),
        os.mkfifo(dynamic(out, job) / "forward.onnx"),
    ),
    "two names": lambda out, job: os.link(dynamic(out, job) / "forward.onnx", out / "two"),
}


@pytest.mark.parametrize("attack", GRAPH_ATTACKS.values(), ids=GRAPH_ATTACKS)
def test_an_export_leaves_its_own_graph_or_none(
    tmp_path: Path, secret: Path, attack: Attack
) -> None:
    def hostile(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        end = exports_the_graph(job, out, lines)
        attack(out, job)
        return end

    precious = tmp_path / "graphs" / "precious" / "dynamic"
    precious.mkdir(parents=True)
    trial = test_graphs.Trial(tmp_path)
    trial.launcher.graph_script = hostile
    try:
        job, _ = trial.ensure()
        said = trial.why_none() + "".join(trial.observer.notes)
    except test_graphs.Unavailable as error:
        said, job = str(error), trial.launcher.exported[0]
    assert SECRET not in said
    left = {path.name for path in (tmp_path / "graphs" / str(job.graph)).glob("*")}
    assert left <= {"dynamic.failed"}
    assert list(precious.parent.iterdir()) == [precious]
    assert {path.name for path in (tmp_path / "graphs").iterdir()} <= {"precious", job.graph}
    assert secret.read_text() == SECRET


def test_of_an_export_the_files_of_its_graphs_are_taken_alone(tmp_path: Path) -> None:
    def generous(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        end = exports_the_graph(job, out, lines)
        (dynamic(out, job) / "forward.onnx").chmod(0o4700)
        (dynamic(out, job) / "more").touch()
        (out / "precious").mkdir()
        for name in (".hidden", "../b1-s8.failed", "b9-s9.failed", "notes.txt"):
            (dynamic(out, job) / name).touch()
        return end

    trial = test_graphs.Trial(tmp_path)
    trial.launcher.graph_script = generous
    job, folder = trial.ensure()
    taken = sorted(path.relative_to(folder) for path in folder.rglob("*"))
    own = Path(str(job.graph))
    files = [own, own / "dynamic", own / "dynamic/forward.onnx", own / "dynamic/graph.json"]
    assert taken == files
    assert {oct((folder / file).stat().st_mode & 0o7777) for file in files[2:]} == {"0o644"}


def test_a_graph_that_is_there_is_shown_to_an_export_and_never_replaced(tmp_path: Path) -> None:
    def greedy(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
        for name in ("b1-s8", "b16-s8"):
            test_graphs.save_graph(out / str(job.graph) / name, job, export_s=9)
        return finish(lines)

    trial = test_graphs.Trial(tmp_path)
    trial.launcher.graph_script = test_graphs.exports_each_shape
    first = trial.graph(test_graphs.a_cell(1))
    trial.launcher.graph_script = greedy
    larger = trial.job.model_copy(update={"cells": (test_graphs.a_cell(16),)})
    trial.ensure(larger)
    assert trial.launcher.tasks[-1].graphs == tmp_path / "graphs"
    assert trial.graph(test_graphs.a_cell(1)) == first
    assert trial.graph(test_graphs.a_cell(16)).export_s == 9
