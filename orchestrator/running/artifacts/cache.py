"""Cached inputs of jobs (graphs, references), built once by CPU jobs and shared by all runs."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.images.source import OUR_FOLDERS
from orchestrator.launchers.base import Task
from orchestrator.running.artifacts.adoption import reason_in
from orchestrator.running.availability import Availability
from orchestrator.running.execute_job import LaunchContext, launch_job
from orchestrator.running.observer import QuietObserver
from orchestrator.screen.words.reasons import error_hint
from orchestrator.system.files import translate_os_errors
from orchestrator.system.locks import hold_devices
from orchestrator.system.trees import remove_entry, remove_tree
from runner.contract.artifact_keys import Producer
from runner.contract.cell import Backend
from runner.contract.errors import EngineUnavailable, ImageError, Unavailable
from runner.contract.files import write_atomic
from runner.contract.graph import FAILED_SUFFIX
from runner.contract.job import Job
from runner.contract.reasons import Reason, reason, write_reason

ARTIFACT_BACKEND: Backend = "cpu"
"""The backend whose jobs make artifacts, whichever backend reads them."""
_MAKING = ".making-"
"""The beginning of the name of an artifact job's own folder."""

Take = Callable[[Path], Reason | None]
"""Takes what a job left in its folder; returns the reason that it gives for leaving nothing."""


@contextmanager
def hold_artifacts(holder: str, note: Callable[[str], None]) -> Iterator[None]:
    """Hold the device on which artifacts are made, so that nobody makes or reads any meanwhile.

    Raises:
        StoreError: the folder of the locks cannot be used.
    """

    def waiting(device: str, other: str) -> None:
        note(f"waiting for device {device}, held by {other}")

    with hold_devices(CATALOGUE[ARTIFACT_BACKEND].locks, holder, waiting):
        yield


class ArtifactCache:
    """A folder beside the runs that jobs fill with artifacts."""

    def __init__(self, path: Path, context: LaunchContext, availability: Availability) -> None:
        self.path = path
        """The folder, there as soon as `open` was called."""
        self._context = context
        self._availability = availability

    def open(self) -> Path:
        """The folder, made if need be."""
        with translate_os_errors(self.path):
            self.path.mkdir(exist_ok=True)
            for left in self.path.glob(f"{_MAKING}*"):  # by a run that was killed
                remove_tree(left)
        return self.path

    def note(self, text: str) -> None:
        """Show the user one line."""
        self._context.observer.note(text)

    def launch(self, job: Job, take: Take, graphs: Path | None = None) -> Reason:
        """Launch the job, and let `take` look at what it left; returns why there is nothing.

        The job writes into an empty folder of its own. The reason is the one that `take` found
        there, or the one for which the launch ended, also where none can begin.
        """
        try:
            provenance = self._availability.prepare(ARTIFACT_BACKEND)
            job = job.model_copy(update={"provenance": provenance})
            return self._execute(job, take, graphs)
        except (Unavailable, ImageError) as error:
            facts = {"backend": ARTIFACT_BACKEND, "hint": error_hint(error)}
            return reason("maker_unavailable", cause=error.reason, **facts)

    def forget_failure(self, name: str) -> None:
        """Remove the reason that an earlier try left, since another one begins."""
        path = self._failure_file(name)
        with translate_os_errors(path):
            remove_entry(path)

    def failure(self, name: str) -> Reason | None:
        """The reason that is kept; None if there is none."""
        return reason_in(self._failure_file(name))

    def keep_failure(self, name: str, explanation: Reason) -> None:
        """Write the reason where runners look for it."""
        path = self._failure_file(name)
        with translate_os_errors(path):
            path.parent.mkdir(exist_ok=True)
            write_atomic(path, write_reason(explanation))

    def _failure_file(self, name: str) -> Path:
        return self.path / f"{name}{FAILED_SUFFIX}"

    def _execute(self, job: Job, take: Take, graphs: Path | None) -> Reason:
        folder = self._context.folder
        with self._own_folder() as out:
            task = Task(
                job=job,
                backend=ARTIFACT_BACKEND,
                job_file=folder.write_job(job),
                out=out,
                graphs=graphs,
            )
            launch = launch_job(job, task, replace(self._context, observer=QuietObserver()))
            if launch.exit is None:
                raise EngineUnavailable(reason("engine_silent"))
            with translate_os_errors(self.path):
                return take(out) or launch.outcome.reason

    @contextmanager
    def _own_folder(self) -> Iterator[Path]:
        """An empty folder for one job, removed in the end."""
        with translate_os_errors(self.path):
            out = Path(mkdtemp(prefix=_MAKING, dir=self.path))
        try:
            yield out
        finally:
            remove_tree(out)


PINS = OUR_FOLDERS.images / "cpu" / "requirements.txt"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;#]+)", re.MULTILINE)


def versions_of(producer: Producer, *, in_images: bool, pins: Path = PINS) -> dict[str, str]:
    """Versions of our code, and of the libraries where the backend cpu's jobs are launched.

    Containers have what the cpu image is built from, which its fingerprint guarantees. Processes
    have what is installed here.
    """
    if not in_images:
        return producer.versions(producer.installed())
    return producer.versions(_pinned(pins.read_text("utf-8"), producer))


def _pinned(text: str, producer: Producer) -> dict[str, str]:
    return {name: version for name, version in _PIN.findall(text) if name in producer.libraries}
