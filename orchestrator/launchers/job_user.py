"""The user as whom a container's job executes, and what that user may read and write.

Jobs never execute as root of this machine. For an unprivileged caller they execute as the caller.
For root they execute as a user that nobody else is, to whom the job's output folder is lent.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.system.trees import give_tree
from runner.contract.errors import StoreError, Unavailable
from runner.contract.reasons import reason

UNPRIVILEGED = 61_100
"""User and group of jobs that root launches: above the ids that systems give to people (up to
60,000) and below those that systemd gives to services (from 61,184), so that no file of this
machine and no other process is this user's."""


@dataclass(frozen=True)
class JobUser:
    """The user of a job, by the ids that a container is given."""

    uid: int
    """User id inside the container."""
    gid: int
    """Group id inside the container."""
    userns_mode: str | None = None
    """`host` if the engine would otherwise map these ids to others."""
    is_lent_output: bool = False
    """True if the output folder is the caller's, and this user's only while its job executes."""

    @property
    def option(self) -> str:
        return f"{self.uid}:{self.gid}"

    @property
    def description(self) -> str:
        if self.is_lent_output:
            return f"the unprivileged user {self.option}, since the caller is root"
        if not self.uid:
            return "the engine's user, who is root inside the container alone"
        return f"the caller, {self.option}"


def job_user(info: Mapping[str, Any], uid: int, gid: int) -> JobUser:
    """The user of the jobs that this caller launches on an engine.

    Rootless engines, Docker's and Podman's, map a container's root to the user who started the
    engine, and all other ids to ones that own nothing here. An engine that maps ids although it is
    root's is told not to for our containers.
    """
    # e.g. `name=userns`, or `name=seccomp,profile=default`
    options = {
        str(option).partition(",")[0].removeprefix("name=")
        for option in info.get("SecurityOptions") or ()
    }
    if "rootless" in options or info.get("Rootless") is True:
        if uid == 0:
            raise Unavailable(reason("engine_rootless"))
        return JobUser(0, 0)
    userns_mode = "host" if "userns" in options else None
    if uid == 0:
        return JobUser(UNPRIVILEGED, UNPRIVILEGED, userns_mode, is_lent_output=True)
    return JobUser(uid, gid, userns_mode)


@contextmanager
def lend_output(folder: Path, user: JobUser) -> Iterator[None]:
    """Give the output folder to the job's user, and take it back in the end."""
    if not user.is_lent_output:
        yield
        return
    try:
        give_tree(folder, user.uid, user.gid)
    except FileNotFoundError:
        pass  # which the engine tells, as it does for every caller
    except OSError as error:
        raise StoreError(
            f"{folder}: cannot be given to the jobs' user {user.option}: {error.strerror}",
            hint="results of root's runs need a file system that knows owners",
        ) from error
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            give_tree(folder, os.getuid(), os.getgid())


def let_read(path: Path) -> None:
    """Make a file of ours, or a folder with all in it but links, readable for everybody."""
    for file in (path, *path.rglob("*")):
        mode = file.lstat().st_mode
        wanted = 0o555 if stat.S_ISDIR(mode) else 0o444
        if not stat.S_ISLNK(mode) and stat.S_IMODE(mode) & wanted != wanted:
            file.chmod(stat.S_IMODE(mode) | wanted)


def require_readable(folder: Path, root: Path, user: JobUser) -> None:
    """Refuse a folder below `root`, which the container sees, whose files the job cannot read."""
    if not user.is_lent_output:
        return
    for file in (folder, *folder.iterdir()):
        real = file.resolve()
        ways = [way for way in (real, *real.parents) if way.is_relative_to(root.resolve())]
        for way in ways:
            mode = way.stat().st_mode
            wanted = 0o5 if stat.S_ISDIR(mode) else 0o4
            if mode & wanted != wanted:
                raise Unavailable(
                    reason("unreadable_to_job", path=way, user=user.option, root=root)
                )
