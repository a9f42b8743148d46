"""The docker launcher: jobs execute in containers that can do nothing but measure."""

import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import ClassVar, Protocol

from docker import DockerClient
from docker.errors import APIError, ImageNotFound, NotFound

import runner
from orchestrator.backends.catalogue import LauncherName
from orchestrator.backends.machine import require_device
from orchestrator.images.image import Image
from orchestrator.launchers.base import Exit, LocalLauncher, Task
from orchestrator.launchers.container import (
    HOST_LABEL,
    EngineFacts,
    command,
    container_environment,
    container_name,
    host_options,
    ignored_options,
    is_orphan,
    labels,
    machine_id_hash,
    occupies,
    open_inputs,
)
from orchestrator.launchers.job_user import job_user, lend_output
from orchestrator.launchers.output import LAST_LINES_PATIENCE_S, JobOutput, LineQueue
from orchestrator.system.engine import (
    CALL_TIMEOUT_S,
    ENGINE_FAILURES,
    engine_errors,
    engine_message,
)
from runner.contract.axes import Backend
from runner.contract.errors import EngineUnavailable, ImageError, Unavailable
from runner.contract.job import Provenance
from runner.contract.reasons import reason

KILLED = 128 + signal.SIGKILL
REMOVAL_PATIENCE_S = 30.0


class ImageProvider(Protocol):
    """A provider of images."""

    def ensure(self, backend: Backend) -> Image:
        """The backend's image, which the engine holds."""


class DockerLauncher(LocalLauncher):
    """Starts one container per launch and leaves none behind."""

    name: ClassVar[LauncherName] = "docker"
    needs_images: ClassVar[bool] = True

    def __init__(
        self, client: DockerClient, images: ImageProvider, host: str | None = None
    ) -> None:
        self._client = client
        self._images = images
        self._host = host or machine_id_hash()
        self._prepared: dict[Backend, Image] = {}

    def prepare(self, backend: Backend) -> Provenance:
        """Get the backend's image; jobs launched from now on execute in exactly that one."""
        require_device(backend, in_container=True)
        image = self._prepared[backend] = self._images.ensure(backend)
        return Provenance(
            launcher=self.name,
            image=image.reference,
            image_digest=image.digest,
            image_labels=dict(image.labels),
            orchestrator_version=runner.__version__,
        )

    @contextmanager
    def launch(self, task: Task) -> Iterator["DockerExecution"]:
        name, attempt = container_name(task), f"job {task.job.id}: cannot be launched"
        with engine_errors(attempt):
            engine = self._facts()
        open_inputs(task, engine.user)
        with lend_output(task.out, engine.user):
            try:
                with engine_errors(attempt):
                    execution = self._start(name, task, engine)
                try:
                    yield execution
                finally:
                    execution.lines.discard()
            finally:
                # Without an engine it cannot be removed; the next start does it.
                with suppress(EngineUnavailable), engine_errors(name):
                    remove(self._client, name)

    def clean(self, devices: frozenset[str]) -> int:
        removed = 0
        with engine_errors("leftover containers cannot be removed"):
            ours = {"label": f"{HOST_LABEL}={self._host}"}
            for container in self._client.api.containers(all=True, filters=ours):
                if occupies(container["Labels"], devices) and is_orphan(container["Labels"]):
                    remove(self._client, container["Id"])
                    removed += 1
        return removed

    def _start(self, name: str, task: Task, engine: EngineFacts) -> "DockerExecution":
        try:
            self._create(name, task, engine)
            execution = DockerExecution(self._client, name, takes_turns=task.job.takes_turns)
            self._client.api.start(name)
        except ImageNotFound as error:
            facts = {"backend": task.backend, "error": engine_message(error)}
            raise ImageError(reason("job_image_refused", job=task.job.id, **facts)) from error
        except APIError as error:
            facts = {"backend": task.backend, "error": engine_message(error)}
            raise Unavailable(reason("container_refused", **facts)) from error
        return execution

    def _create(self, name: str, task: Task, engine: EngineFacts) -> None:
        image = self._prepared.get(task.backend) or self._images.ensure(task.backend)
        requested = self._client.api.create_host_config(**host_options(task, engine))
        user = engine.user.option
        self._client.api.create_container(
            image.id,
            command(task),
            name=name,
            user=user,
            environment=container_environment(task),
            labels=labels(task, self._host),
            host_config=requested,
            use_config_proxy=False,
            stdin_open=task.job.takes_turns,
        )
        created = self._client.api.inspect_container(name)
        missing = ignored_options(requested, created["HostConfig"])
        if missing or created["Config"]["User"] != user:
            raise Unavailable(reason("engine_ignores", settings=", ".join(missing or ["User"])))

    def _facts(self) -> EngineFacts:
        info = self._client.info()
        return EngineFacts(
            memory_bytes=info["MemTotal"],
            cpus=info["NCPU"],
            limits_cpus=bool(info.get("CPUSet")),
            limits_swap=bool(info.get("SwapLimit")),
            user=job_user(info, os.getuid(), os.getgid()),
        )


class DockerExecution:
    """A container under way. Made before it starts, so that no line is missed."""

    def __init__(self, client: DockerClient, name: str, *, takes_turns: bool = False) -> None:
        self._client = client
        self._name = name
        self._output = JobOutput()
        self._stdin = takes_turns and client.api.attach_socket(name, {"stdin": 1, "stream": 1})
        chunks = client.api.attach(name, stream=True, demux=True)
        self._reader = threading.Thread(target=self._read, args=[chunks], daemon=True)
        self._reader.start()

    @property
    def lines(self) -> LineQueue:
        return self._output.lines

    def send(self, line: str) -> None:
        assert self._stdin, "only a runner that takes turns has a stdin"
        with suppress(OSError, ValueError):  # it has ended, or was waited for already
            os.write(self._stdin.fileno(), f"{line}\n".encode())

    def kill(self) -> None:
        self.lines.discard()
        with suppress(*ENGINE_FAILURES):
            self._client.api.kill(self._name)

    def wait(self) -> Exit:
        with engine_errors(f"{self._name}: its exit status is unknown"):
            code, out_of_memory = self._end()
        self._reader.join(LAST_LINES_PATIENCE_S)
        if self._stdin and not self._stdin.closed:
            self._stdin._sock.close()  # which closes once no file uses it
            self._stdin.close()
        return Exit(code, out_of_memory, self._output.log)

    def _end(self) -> tuple[int, bool]:
        try:
            code = self._client.api.wait(self._name, timeout=CALL_TIMEOUT_S)["StatusCode"]
            state = self._client.api.inspect_container(self._name)["State"]
        except NotFound:  # somebody else removed it
            return KILLED, False
        return code, code != 0 and state["OOMKilled"]

    def _read(self, chunks: Iterable[tuple[bytes | None, bytes | None]]) -> None:
        try:
            for stdout, stderr in chunks:
                self._output.take_stderr(stderr or b"")
                self._output.take_stdout(stdout or b"")
        except (OSError, *ENGINE_FAILURES):
            pass  # the engine went away, which wait() tells
        finally:
            self._output.end()


def remove(client: DockerClient, container: str) -> None:
    """Remove the container with all it runs and its volumes; returns when it is gone."""
    deadline = time.monotonic() + REMOVAL_PATIENCE_S
    while True:
        try:
            client.api.remove_container(container, v=True, force=True)
        except NotFound:
            return
        except APIError:  # somebody removes it already
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
