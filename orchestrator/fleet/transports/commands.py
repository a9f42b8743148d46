"""Hosts of a file: the command that starts the host program on each, by ssh or by Slurm."""

import shutil
import subprocess
from collections.abc import Callable, Sequence

from orchestrator.fleet.hosts_file import HostEntry
from orchestrator.fleet.transport import HOST_MODULE, FleetHost, TransportName
from orchestrator.fleet.transports.pipe import PipeConversation
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


def ssh_command(host: HostEntry) -> list[str]:
    """The command that executes the host program over ssh."""
    options = {"-p": host.port, "-i": host.identity}
    given = [word for name, value in options.items() if value for word in (name, str(value))]
    if host.known_hosts:
        given += ["-o", f"UserKnownHostsFile={host.known_hosts}"]
    return ["ssh", *_SSH_OPTIONS, *given, "--", str(host.address), host.python, *HOST_MODULE]


def srun_command(host: HostEntry) -> list[str]:
    """The command that executes the host program as a job of Slurm."""
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


class CommandTransport:
    """Hosts that a command reaches: those of one kind in a hosts file."""

    def __init__(self, name: TransportName, hosts: Sequence[HostEntry]) -> None:
        self.name = name
        self._hosts = {host.name: host for host in hosts}

    def hosts(self) -> Sequence[FleetHost]:
        """The hosts of the file."""
        return [FleetHost(host.name, self.name, host.labels) for host in self._hosts.values()]

    def begin(self, host: str) -> PipeConversation:
        """Start the host program.

        Raises:
            Unavailable: this machine has no such command.
        """
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

    def is_dead(self, host: str) -> bool:
        """False: the end of a command tells sooner."""
        del host
        return False

    def close(self) -> None:
        """Do nothing: each conversation has a process of its own."""
