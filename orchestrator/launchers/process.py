"""The process launcher: jobs execute as local processes, on machines without an engine."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar

import psutil

import runner
from orchestrator.backends.catalogue import CATALOGUE, BackendSpec, LauncherName
from orchestrator.backends.machine import default_memory_bytes, require_device, require_stack
from orchestrator.launchers.base import Exit, LocalLauncher, Task
from orchestrator.launchers.container import OWNER_LABEL, is_orphan, owner_id
from orchestrator.launchers.environment import cpus_of_process, process_environment
from orchestrator.launchers.output import LAST_LINES_PATIENCE_S, JobOutput, LineQueue
from runner.contract.axes import IN_CHILDREN, Backend
from runner.contract.job import Job, Provenance
from runner.contract.processes import oom_kills

if TYPE_CHECKING:
    from orchestrator.launchers.checkout import Checkout

_PREFIX = "accelmatrix-job-"
_PATIENCE_S = 5.0


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for one launch; with the context go all that is in it and all who use it."""
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{owner_id(os.getpid())}-"))
    try:
        yield folder
    finally:
        remove_scratch(folder)


def remove_scratch(folder: Path) -> None:
    """End the browsers, which lead groups of their own, that have a profile there; remove it."""
    profile = f"--user-data-dir={folder}{os.sep}"
    leaders = [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(word.startswith(profile) for word in process.info["cmdline"] or ())
    ]
    for leader in leaders:
        with suppress(ProcessLookupError):
            os.killpg(leader.pid, signal.SIGKILL)
    psutil.wait_procs(leaders, timeout=_PATIENCE_S)
    shutil.rmtree(folder, ignore_errors=True)


def _is_orphan(folder: Path) -> bool:
    owner = folder.name.removeprefix(_PREFIX).rpartition("-")[0]
    if owner == owner_id(os.getpid()):
        return False
    with suppress(OSError):
        return folder.lstat().st_uid == os.getuid() and is_orphan({OWNER_LABEL: owner})
    return False


WATCH_INTERVAL_S = 0.2
_CHUNK_BYTES = 64 << 10


class ProcessLauncher(LocalLauncher):
    """Starts `python -m runner` with this interpreter, or with another checkout and its own."""

    name: ClassVar[LauncherName] = "process"
    needs_images: ClassVar[bool] = False

    def __init__(
        self,
        python: str = sys.executable,
        catalogue: Mapping[Backend, BackendSpec] = CATALOGUE,
        checkout: "Checkout | None" = None,
    ) -> None:
        self._python = str(checkout.python) if checkout else python
        self._catalogue = catalogue
        self._checkout = checkout

    def prepare(self, backend: Backend) -> Provenance:
        require_device(backend, in_container=False)
        require_stack(backend, self._catalogue)
        return Provenance(
            launcher=self.name,
            git_commit=self._checkout and self._checkout.commit,
            orchestrator_version=runner.__version__,
        )

    @contextmanager
    def launch(self, task: Task) -> Iterator["ProcessExecution"]:
        """Start the runner in a session of its own, so that Ctrl-C reaches us alone."""
        environment = process_environment(task.job)
        if self._checkout is not None:
            environment["PYTHONPATH"] = str(self._checkout.folder)
        with ExitStack() as exits:
            if task.job.cells[0].runtime in IN_CHILDREN:
                environment["TMPDIR"] = str(exits.enter_context(scratch_folder()))
            paths = [word for option, path in task.staged().items() for word in (option, str(path))]
            process = subprocess.Popen(
                [self._python, "-P", "-m", "runner", *paths, "--die-with-parent"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=environment,
                start_new_session=True,
            )
            execution = ProcessExecution(process, task.job)
            try:
                yield execution
            finally:
                execution.kill()
                execution.wait()

    def clean(self, devices: frozenset[str]) -> int:
        """Remove scratch folders with their users: a runner ends itself when we are gone."""
        del devices
        folders = Path(tempfile.gettempdir()).glob(f"{_PREFIX}*")
        orphans = [folder for folder in folders if _is_orphan(folder)]
        for folder in orphans:
            remove_scratch(folder)
        return len(orphans)


class ProcessExecution:
    """A runner process under way, held to its limits."""

    def __init__(self, process: subprocess.Popen[bytes], job: Job) -> None:
        self._process = process
        self._output = JobOutput()
        self._ended = threading.Event()
        self._over_limit = False
        self._oom_kills_before = oom_kills()
        if cpus := cpus_of_process(job):
            with suppress(OSError):  # it has ended already
                os.sched_setaffinity(process.pid, cpus)
        self._readers = [
            _start(_read, process.stdout, self._output.take_stdout),
            _start(_read, process.stderr, self._output.take_stderr),
        ]
        all_bytes = psutil.virtual_memory().total
        limit_bytes = job.limits.memory_bytes or default_memory_bytes(all_bytes)
        self._watcher = _start(self._watch, limit_bytes)
        self._reaper = _start(self._reap)

    @property
    def lines(self) -> LineQueue:
        return self._output.lines

    def send(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):  # it has ended, or was waited for already
            self._process.stdin.write(f"{line}\n".encode())

    def kill(self) -> None:
        self.lines.discard()
        self._kill_group()

    def wait(self) -> Exit:
        code = self._process.wait()
        for thread in (self._watcher, *self._readers):
            thread.join(LAST_LINES_PATIENCE_S)
        if self._process.stdin is not None:
            self._process.stdin.close()
        ran_out = self._over_limit or oom_kills() > self._oom_kills_before
        return Exit(code, code == -signal.SIGKILL and ran_out, self._output.log)

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _reap(self) -> None:
        """Once the runner has ended, end the children it left, which may hold its stdout.

        The last line comes after the end, so that a runner that hangs behind it times out. A
        child that left the runner's session may hold stdout for ever; nobody waits for it.
        """
        self._process.wait()
        self._ended.set()
        self._kill_group()
        for reader in self._readers:
            reader.join(LAST_LINES_PATIENCE_S)
        self._output.end()

    def _watch(self, limit_bytes: int) -> None:
        with suppress(psutil.Error):
            while highest_bytes(self._process.pid) <= limit_bytes:
                if self._ended.wait(WATCH_INTERVAL_S):
                    return
            self._over_limit = True
            self.kill()


def _start(target: Callable[..., None], *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=target, args=arguments, daemon=True)
    thread.start()
    return thread


def _read(pipe: IO[bytes], take: Callable[[bytes], None]) -> None:
    with pipe:
        while chunk := pipe.read(_CHUNK_BYTES):
            take(chunk)


def highest_bytes(pid: int) -> int:
    """Resident memory now, or the process' own peak that records have: VmHWM (proc(5))."""
    peak = 0
    with suppress(OSError, ValueError, LookupError):
        _, _, rest = Path(f"/proc/{pid}/status").read_text().partition("\nVmHWM:")
        peak = int(rest.split(maxsplit=1)[0]) << 10
    return max(resident_bytes(pid), peak)


def resident_bytes(pid: int) -> int:
    """Resident memory of a process and of its first thread's children, at a small cost."""
    total = psutil.Process(pid).memory_info().rss
    with suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            with suppress(psutil.NoSuchProcess):
                total += psutil.Process(int(child)).memory_info().rss
    return int(total)
