"""What this machine tells about itself: the seam behind which `doctor` looks for devices."""

import grp
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Protocol

from orchestrator.engine import connect

PATIENCE_S = 5.0


class Host(Protocol):
    """A machine that is looked at."""

    @property
    def system(self) -> str:
        """`sys.platform`."""
        ...

    @property
    def machine(self) -> str:
        """The instruction set, e.g. `x86_64`."""
        ...

    def nodes(self, pattern: str) -> list[str]:
        """The device nodes that match a glob such as `/dev/nvidia[0-9]*`."""
        ...

    def may_use(self, node: str) -> bool:
        """Whether this user may read and write it."""
        ...

    def group_of(self, node: str) -> str:
        """The group that owns it."""
        ...

    def version(self, distribution: str) -> str | None:
        """The installed version; None if it is not installed."""
        ...

    def ask(self, command: Sequence[str]) -> str | None:
        """What a program prints; None if it is missing, fails or takes longer than 5 s."""
        ...

    def engine(self) -> Mapping[str, object]:
        """What the container engine says of itself.

        Raises:
            EngineUnavailable: there is none.
        """
        ...


class ThisHost:
    """The machine that this process runs on."""

    system = sys.platform
    machine = platform.machine()

    def nodes(self, pattern: str) -> list[str]:
        """The device nodes that match a glob."""
        return sorted(map(str, Path("/").glob(pattern.lstrip("/"))))

    def may_use(self, node: str) -> bool:
        """Whether this user may read and write it."""
        return os.access(node, os.R_OK | os.W_OK)

    def group_of(self, node: str) -> str:
        """The group that owns it, by name where it has one."""
        number = Path(node).stat().st_gid
        try:
            return grp.getgrgid(number).gr_name
        except KeyError:
            return str(number)

    def version(self, distribution: str) -> str | None:
        """The installed version."""
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            return None

    def ask(self, command: Sequence[str]) -> str | None:
        """What a program prints."""
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=PATIENCE_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    def engine(self) -> Mapping[str, object]:
        """What the container engine says of itself."""
        client = connect()
        try:
            return dict(client.info())
        finally:
            client.close()
