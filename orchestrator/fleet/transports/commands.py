"""Hosts of a file: the command that starts the host program on each, by ssh or by Slurm."""

import os
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

from orchestrator.fleet.hosts_file import HostEntry
from orchestrator.fleet.transport import HOST_MODULE, FleetHost, StreamConversation, TransportName
from runner.contract.errors import Unavailable

_SSH_OPTIONS = (
    "-T",
    *("-o", "BatchMode=yes"),
    *("-o", "StrictHostKeyChecking=yes"),
    *("-o", "ConnectTimeout=10"),
    *("-o", "ServerAliveInterval=3"),
    *("-o", "ServerAliveCountMax=3"),
    *("-o", "ControlPath=none"),
)
"""No question is asked, no unknown key is taken, and a network that is cut is noticed."""
_SRUN_OPTIONS = ("--ntasks=1", "--unbuffered", "--quiet", "--job-name=accelmatrix", "--exclusive")
_MEBIBYTE = 1 << 20
_TAIL_LINES = 20
_QUOTED_LINES = 3
"""An error, its hint, and a line of the command that carried them."""
_TAIL_S = 1.0
_PATIENCE_S = 5.0
"""Seconds that a program may take to clean up once its stdin is closed."""


def ssh_command(host: HostEntry) -> list[str]:
    options = {"-p": host.port, "-i": host.identity}
    given = [word for name, value in options.items() if value for word in (name, str(value))]
    if host.known_hosts:
        given += ["-o", f"UserKnownHostsFile={host.known_hosts}"]
    return ["ssh", *_SSH_OPTIONS, *given, "--", str(host.address), host.python, *HOST_MODULE]


def srun_command(host: HostEntry) -> list[str]:
    given = [f"--partition={host.partition}"]
    if host.node:
        given.append(f"--nodelist={host.node}")
    if host.limits.cpus:
        given.append(f"--cpus-per-task={host.limits.cpus}")
    if host.limits.memory:
        given.append(f"--mem={max(1, host.limits.memory // _MEBIBYTE)}M")  # 0: all of it
    return ["srun", *_SRUN_OPTIONS, *given, "--", host.python, *HOST_MODULE]


_PROGRAMS: dict[TransportName, Callable[[HostEntry], list[str]]] = {
    "ssh": ssh_command,
    "slurm": srun_command,
}


class PipeConversation(StreamConversation):
    """A conversation with a program of this machine: ssh, srun, or the host program itself."""

    def __init__(self, command: Sequence[str], *, patience_s: float = _PATIENCE_S) -> None:
        """Start the program in a process group of its own; it may take `patience_s` to end."""
        self._patience_s = patience_s
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        super().__init__(self._process.stdin, self._process.stdout)
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._reader = Thread(target=self._read_stderr, daemon=True)
        self._reader.start()

    def end(self) -> None:
        """End stdin, which ends a host program in an orderly way; kill what does not end."""
        # A `send` that is blocked holds the file's lock: the descriptor is what ends the stream.
        with suppress(OSError, ValueError), Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), self._to_host.fileno())
        try:
            self._process.wait(self._patience_s)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def last_words(self) -> str:
        self._reader.join(_TAIL_S)
        lines = [line.strip() for line in self._tail if line.strip()]
        return "; ".join(lines[-_QUOTED_LINES:])

    def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._tail.append(line.decode("utf-8", "replace"))


class CommandTransport:
    """Hosts that a command reaches: those of one kind in a hosts file."""

    def __init__(self, name: TransportName, hosts: Sequence[HostEntry]) -> None:
        self.name = name
        self._hosts = {host.name: host for host in hosts}

    def hosts(self) -> Sequence[FleetHost]:
        return [FleetHost(host.name, self.name, host.labels) for host in self._hosts.values()]

    def begin(self, host: str) -> PipeConversation:
        command = _PROGRAMS[self.name](self._hosts[host])
        if shutil.which(command[0]) is None:
            packages = {"ssh": "openssh-client", "srun": "slurm-client"}
            raise Unavailable(
                f"{host}: there is no {command[0]} on this machine",
                hint=f"install it, e.g. Debian's {packages[command[0]]}",
            )
        try:
            return PipeConversation(command)
        except (OSError, subprocess.SubprocessError) as error:
            raise Unavailable(f"{host}: {command[0]} cannot be started: {error}") from error

    def close(self) -> None:
        """Do nothing: each conversation has a process of its own."""
