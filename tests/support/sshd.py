"""An sshd on loopback, with a host key and a user's key that the test makes."""

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.fleet.hosts_file import HostEntry
from orchestrator.fleet.transports.commands import CommandTransport
from tests.support.fleet import soon
from tests.support.needs import lacking
from tests.support.ports import free_port

ADDRESS = "127.0.0.1"
_PRIVILEGES = Path("/run/sshd")
"""The folder without which an sshd of root's does not start."""


@dataclass(frozen=True)
class Sshd:
    """A running sshd."""

    folder: Path
    port: int

    def entry(self, program: Path, **changes: Any) -> HostEntry:
        """This machine as a host, with that program in the place of its Python."""
        known = {
            "name": "a",
            "address": f"{getpass.getuser()}@{ADDRESS}",
            "port": self.port,
            "identity": str(self.folder / "user_key"),
            "known_hosts": str(self.folder / "known_hosts"),
            "python": str(program),
        }
        return HostEntry.model_validate(known | changes)

    def transport(self, program: Path, **changes: Any) -> CommandTransport:
        return CommandTransport("ssh", [self.entry(program, **changes)])


@contextmanager
def running_sshd(folder: Path) -> Iterator[Sshd]:
    """An sshd that lets this user in with one key."""
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if program is None or shutil.which("ssh") is None:
        lacking("sshd and ssh, e.g. Debian's openssh-server")
    if os.getuid() == 0:
        _PRIVILEGES.mkdir(exist_ok=True)
    for name in ("host_key", "user_key"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(command, check=True)
    port = free_port()
    host_key = (folder / "host_key.pub").read_text()
    (folder / "known_hosts").write_text(f"[{ADDRESS}]:{port} {host_key}")
    settings = {
        "Port": port,
        "ListenAddress": ADDRESS,
        "HostKey": folder / "host_key",
        "AuthorizedKeysFile": folder / "user_key.pub",
        "PidFile": "none",
        "PasswordAuthentication": "no",
        "PermitRootLogin": "prohibit-password",
        "StrictModes": "no",
        "UsePAM": "no",
        "MaxStartups": "100",
    }
    (folder / "config").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([program, "-D", "-e", "-f", folder / "config"], stderr=log)
        try:
            assert soon(lambda: _answers(port)), (folder / "log").read_text()
            yield Sshd(folder, port)
        finally:
            process.terminate()
            process.wait()


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection((ADDRESS, port), timeout=1):
        return True
    return False
