"""Cached inputs of jobs (graphs, references), built once by CPU jobs and shared by all runs.

Such a job writes into a folder of its own. What it left there is a claim: only plain files of the
expected names and sizes are taken, and nothing else of the cache can be reached by it.
"""

import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from zipfile import ZipFile

import psutil

from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.backends.machine import default_memory_bytes
from orchestrator.images.source import OUR_FOLDERS
from orchestrator.launchers.base import Task
from orchestrator.running.execute_job import Availability, LaunchContext, launch_job
from orchestrator.running.observer import QuietObserver
from orchestrator.screen.words.reasons import error_hint
from orchestrator.system.files import translate_os_errors
from orchestrator.system.locks import hold_devices
from orchestrator.system.text import escape_control
from orchestrator.system.trees import remove_entry, remove_tree
from orchestrator.system.zip_files import ZIP_ERRORS, stored_entries
from runner.contract.artifact_keys import Producer
from runner.contract.axes import Backend
from runner.contract.cell import Cell
from runner.contract.errors import (
    DamagedFile,
    EngineUnavailable,
    ImageError,
    Unavailable,
    Unsupported,
)
from runner.contract.files import (
    TEXT_BYTES,
    open_plain,
    plain_fault,
    read_plain_text,
    sync,
    write_atomic,
)
from runner.contract.graph import (
    FAILED_SUFFIX,
    GRAPH_FILE,
    UNFINISHED_SUFFIX,
    Graph,
    graph_kind,
    number_format,
    read_graph,
)
from runner.contract.job import Job, Limits
from runner.contract.reasons import Reason, parse_reason, reason, write_reason

ARTIFACT_BACKEND: Backend = "cpu"
"""The backend whose jobs make artifacts, whichever backend reads them."""
PREPARATION_TIMEOUT_S = 1800.0
"""Least time that one step of such a job may take, seconds."""
_MAKING = ".making-"
"""The beginning of the name of an artifact job's own folder."""

Take = Callable[[Path], Reason | None]
"""Takes what a job left in its folder; returns the reason that it gives for leaving nothing."""


def preparation_limits(job: Job) -> Limits:
    """The limits of a job that makes what this one reads: the usual, or larger ones of the matrix.

    A matrix limits what is measured, as it would be deployed.
    """
    limits, most = job.limits, default_memory_bytes(psutil.virtual_memory().total)
    return Limits(
        cell_timeout_s=max(job.timeout_s, PREPARATION_TIMEOUT_S),
        memory_bytes=limits.memory_bytes if (limits.memory_bytes or 0) > most else None,
    )


@contextmanager
def hold_artifacts(holder: str, note: Callable[[str], None]) -> Iterator[None]:
    """Hold the device on which artifacts are made, so that nobody makes or reads any meanwhile."""

    def waiting(device: str, other: str) -> None:
        note(f"waiting for device {device}, held by {other}")

    with hold_devices(CATALOGUE[ARTIFACT_BACKEND].locks, holder, waiting):
        yield


class ArtifactCache:
    """A folder beside the runs that jobs fill with artifacts."""

    def __init__(self, path: Path, context: LaunchContext, availability: Availability) -> None:
        self.path = path
        self._context = context
        self._availability = availability

    def open(self) -> Path:
        with translate_os_errors(self.path):
            self.path.mkdir(exist_ok=True)
            for left in self.path.glob(f"{_MAKING}*"):  # by a run that was killed
                remove_tree(left)
        return self.path

    def versions(self, producer: Producer) -> dict[str, str]:
        """The versions of what makes the producer's artifacts where these jobs are launched."""
        version = self._context.folder.run.version
        if version is not None and version.checkout is not None:
            return version.checkout.versions(producer)
        return versions_of(producer, in_images=self._context.launcher.needs_images)

    def note(self, text: str, reason: Reason | None = None) -> None:
        self._context.observer.note(text, reason)

    def launch(self, job: Job, take: Take, graphs: Path | None = None) -> Reason:
        """Launch the job, and let `take` look at what it left; returns why there is nothing.

        The job writes into an empty folder of its own. The reason is the one that `take` found
        there, or the one for which the launch ended, also where none can begin.
        """
        with translate_os_errors(self.path):
            out = Path(mkdtemp(prefix=_MAKING, dir=self.path))
        try:
            provenance = self._availability.prepare(ARTIFACT_BACKEND)
            job = job.model_copy(update={"provenance": provenance})
            job_file = self._context.folder.job_files.write(job)
            task = Task(job, ARTIFACT_BACKEND, job_file, out, graphs=graphs)
            launch = launch_job(job, task, replace(self._context, observer=QuietObserver()))
            if launch.exit is None:
                raise EngineUnavailable(reason("engine_silent"))
            with translate_os_errors(self.path):
                return take(out) or launch.outcome.reason
        except (Unavailable, ImageError) as error:
            facts = {"backend": ARTIFACT_BACKEND, "hint": error_hint(error)}
            return reason("maker_unavailable", cause=error.reason, **facts)
        finally:
            remove_tree(out)

    def forget_failure(self, name: str) -> None:
        """Remove the reason that an earlier try left, since another one begins."""
        path = self._failure_file(name)
        with translate_os_errors(path):
            remove_entry(path)

    def failure(self, name: str) -> Reason | None:
        return reason_in(self._failure_file(name))

    def keep_failure(self, name: str, explanation: Reason) -> None:
        """Write the reason where runners look for it."""
        path = self._failure_file(name)
        with translate_os_errors(path):
            path.parent.mkdir(exist_ok=True)
            write_atomic(path, write_reason(explanation))

    def _failure_file(self, name: str) -> Path:
        return self.path / f"{name}{FAILED_SUFFIX}"


PINS = OUR_FOLDERS.images / "cpu" / "requirements.txt"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;#]+)", re.MULTILINE)


@cache
def versions_of(producer: Producer, *, in_images: bool, pins: Path = PINS) -> dict[str, str]:
    """Versions of our code, and of the libraries where the backend cpu's jobs are launched.

    Containers have what the cpu image is built from, which its fingerprint guarantees. Processes
    have what is installed here.
    """
    if not in_images:
        return producer.versions(producer.installed())
    pinned = dict(_PIN.findall(pins.read_text("utf-8")))
    return producer.versions({name: pinned[name] for name in producer.libraries if name in pinned})


REFERENCE_BYTES = 4 << 30
SHAPE = re.compile(r"dynamic|[a-z][0-9]+(-[a-z][0-9]+)*")
"""The name of a graph's folder: the sizes that it takes."""
_ARRAY = ".npy"
_GRAPH_BYTES = 1 << 40
_MOST_REASON = 10_000
_FILE_MODE, _FOLDER_MODE = 0o644, 0o755
"""Whoever the jobs' user is, it may read what is taken."""


def is_reference(path: Path) -> bool:
    return reference_names(path) is not None


def reference_names(path: Path) -> list[str] | None:
    """The names of a reference's arrays; None if it is none, or not whole."""
    try:
        with open_plain(path, REFERENCE_BYTES) as file, ZipFile(file) as archive:
            entries = stored_entries(archive, path.lstat().st_size)
            arrays = all(entry.filename.endswith(_ARRAY) for entry in entries)
            names = [entry.filename.removesuffix(_ARRAY) for entry in entries]
            return names if entries and arrays and archive.testzip() is None else None
    except (DamagedFile, *ZIP_ERRORS):
        return None


def reason_in(path: Path) -> Reason | None:
    """The reason that a job left in a file, without what would steer a terminal; or None."""
    try:
        text = read_plain_text(path, TEXT_BYTES).strip()
    except (OSError, DamagedFile):
        return None
    if not text:
        return None
    left = parse_reason(text)
    facts = {name: escape_control(fact[:_MOST_REASON]) for name, fact in left.facts.items()}
    return replace(left, facts=facts)


def take_file(draft: Path, path: Path) -> None:
    """Move a plain file into its place, readable for everybody."""
    draft.chmod(_FILE_MODE)
    sync(draft)
    remove_entry(path)
    draft.replace(path)


def take_graph(draft: Path, path: Path, cell: Cell | None) -> None:
    """Move a graph's own files from one folder into another, which appears whole or not at all.

    `cell` is one that executes the graph; None if whoever made it is believed.
    """
    graph = _examined(draft, cell)
    unfinished = path.with_name(f".{path.name}{UNFINISHED_SUFFIX}")
    remove_entry(unfinished)
    unfinished.mkdir()
    try:
        for file in graph_files(graph, draft):
            take_file(file, unfinished / file.name)
        unfinished.chmod(_FOLDER_MODE)
        sync(unfinished)
        remove_entry(path)
        unfinished.rename(path)
    finally:
        remove_tree(unfinished)


def shapes_left(folder: Path, most: int, suffix: str = "") -> Mapping[str, Path]:
    """Entries of a folder that are named like a shape, by that shape, at most so many."""
    try:
        if not stat.S_ISDIR(folder.lstat().st_mode):
            return {}
        entries = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(suffix))
    except OSError:
        return {}
    shapes = (name.removesuffix(suffix) for name in entries)
    known = [shape for shape in shapes if SHAPE.fullmatch(shape)]
    return {shape: folder / f"{shape}{suffix}" for shape in known[:most]}


def graph_files(graph: Graph, folder: Path) -> list[Path]:
    """The files of a graph, its description the last."""
    files = [file for part in graph.parts.values() for file in part.files(folder)]
    for file in files:
        if file.parent != folder or not file.name:
            raise Unsupported(reason("graph_names_elsewhere", graph=folder.name))
    return [*dict.fromkeys(files), folder / GRAPH_FILE]


def _examined(draft: Path, cell: Cell | None) -> Graph:
    if not stat.S_ISDIR(draft.lstat().st_mode):
        raise Unsupported(reason("graph_no_folder", graph=draft.name))
    try:
        _require_plain(draft / GRAPH_FILE, TEXT_BYTES)
        graph = read_graph(draft)
        for file in graph_files(graph, draft):
            _require_plain(file, _GRAPH_BYTES)
    except OSError as error:
        raise Unsupported(
            reason("graph_refused", graph=draft.name, error=error.strerror)
        ) from error
    if cell is None:
        return graph
    expected = (cell.model, graph_kind(cell), number_format(cell), draft.name)
    if (graph.model, graph.content, graph.numbers, graph.shape) != expected:
        raise Unsupported(reason("other_graph", graph=draft.name))
    return graph


def _require_plain(path: Path, most_bytes: int) -> None:
    if fault := plain_fault(path, most_bytes):
        raise Unsupported(
            reason("graph_file_fault", graph=path.parent.name, file=path.name, fault=fault)
        )
