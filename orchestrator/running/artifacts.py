"""Cached inputs of jobs (graphs, references), built once by CPU jobs and shared by all runs."""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import runner
from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.launchers.base import Task
from orchestrator.running.availability import Availability
from orchestrator.running.execute_job import LaunchContext, launch_job
from orchestrator.running.observer import QuietObserver
from orchestrator.system.files import translate_os_errors
from orchestrator.system.git import ROOT
from orchestrator.system.locks import hold_devices
from runner.contract.artifact_keys import Producer
from runner.contract.cell import Backend
from runner.contract.errors import EngineUnavailable, ImageError, Unavailable
from runner.contract.files import write_atomic
from runner.contract.graph import FAILED_SUFFIX
from runner.contract.job import Job

ARTIFACT_BACKEND: Backend = "cpu"
"""The backend whose jobs make artifacts, whichever backend reads them."""


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
        """The folder, made if need be.

        Raises:
            StoreError: it cannot be made.
        """
        with translate_os_errors(self.path):
            self.path.mkdir(exist_ok=True)
        return self.path

    def note(self, text: str) -> None:
        """Show the user one line."""
        self._context.observer.note(text)

    def launch(self, job: Job) -> str:
        """Launch the job, whose output folder this is; returns why it ended.

        That is the reason if it left nothing, also where such jobs cannot be launched at all.

        Raises:
            EngineUnavailable: the engine went away.
            StoreError: the results folder cannot be written.
        """
        try:
            provenance = self._availability.prepare(ARTIFACT_BACKEND)
            return self._execute(job.model_copy(update={"provenance": provenance}))
        except (Unavailable, ImageError) as error:
            remedy = f"; {error.hint}" if error.hint else ""
            return (
                f"the backend {ARTIFACT_BACKEND} makes it, and cannot be launched: {error}{remedy}"
            )

    def forget_failure(self, name: str) -> None:
        """Remove the reason that an earlier try left, since another one begins."""
        path = self._failure_file(name)
        with translate_os_errors(path):
            path.unlink(missing_ok=True)

    def failure(self, name: str) -> str | None:
        """The reason that a job left; None if it left none."""
        path = self._failure_file(name)
        return path.read_text("utf-8").strip() if path.exists() else None

    def keep_failure(self, name: str, reason: str) -> str:
        """Write the reason where runners look for it, unless the job did; returns what is there."""
        if left := self.failure(name):
            return left
        path = self._failure_file(name)
        with translate_os_errors(path):
            write_atomic(path, reason)
        return reason

    def remove(self, pattern: str) -> None:
        """Remove folders that killed jobs left unfinished."""
        for path in self.path.glob(pattern):
            shutil.rmtree(path, ignore_errors=True)

    def _failure_file(self, name: str) -> Path:
        return self.path / f"{name}{FAILED_SUFFIX}"

    def _execute(self, job: Job) -> str:
        folder = self._context.folder
        task = Task(
            job=job,
            backend=ARTIFACT_BACKEND,
            job_file=folder.write_job(job),
            out=self.path,
        )
        launch = launch_job(job, task, replace(self._context, observer=QuietObserver()))
        if launch.exit is None:
            raise EngineUnavailable("the container engine stopped answering during the run")
        return launch.outcome.reason


PINS = ROOT / "images" / "cpu" / "requirements.txt"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;#]+)", re.MULTILINE)


def versions_of(producer: Producer, *, in_images: bool, pins: Path = PINS) -> dict[str, str]:
    """Versions of our code, and of the libraries where the backend cpu's jobs are launched.

    Containers have what the cpu image is built from, which its fingerprint guarantees; without a
    checkout they are known by the image's version. Processes have what is installed here.
    """
    if not in_images:
        return producer.versions(producer.installed())
    try:
        return producer.versions(_pinned(pins.read_text("utf-8"), producer))
    except OSError:
        return producer.versions({"image": runner.__version__})


def _pinned(text: str, producer: Producer) -> dict[str, str]:
    return {name: version for name, version in _PIN.findall(text) if name in producer.libraries}
