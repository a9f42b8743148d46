"""Heads and hosts of a Ray cluster on this machine: made, joined, ended."""

import errno
import secrets
import shutil
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.fleet.membership import Membership, StateFolder, require_token
from orchestrator.fleet.transports.ray import require_ray
from orchestrator.fleet.transports.ray_address import require_answer
from orchestrator.fleet.transports.ray_daemons import (
    START_LIMIT_S,
    end_daemons,
    is_running,
    start_daemons,
)
from orchestrator.fleet.transports.ray_settings import (
    NodeRequest,
    head_command,
    host_line,
    join_command,
    node_environment,
)
from orchestrator.system.files import translate_os_errors
from runner.contract.errors import Unavailable

_LOOPBACK = "127.0.0.1"
_HEAD = "head"


@dataclass(frozen=True)
class Started:
    """A head or a host that was started here."""

    membership: Membership
    join_line: str | None = None
    """The line that other hosts run, for a head."""
    is_loopback: bool = False
    """True for a head whose line works on this machine alone."""


@dataclass(frozen=True)
class EndedMember:
    """A head or a host that was ended here."""

    membership: Membership
    processes: int
    """Processes of it that still ran."""


def start_head(
    state: StateFolder, address: str, port: int, name: str | None, labels: Mapping[str, str]
) -> Started:
    """Start a head on this machine.

    Args:
        state: the user's folder.
        address: the address of this machine by which hosts reach it.
        port: the port of it.
        name: its name as a host too; None for a head that measures nothing.
        labels: its labels as a host.

    Raises:
        Unavailable: Ray is not installed, a head is up already, the address is not this machine's,
            the port is taken, or Ray did not start.
    """
    require_ray()
    if (head := state.head()) is not None:
        if is_running(head.processes):
            raise Unavailable(
                f"a head of yours is up already, at {head.address}",
                hint="`orchestrator fleet down` ends it",
            )
        _end(state, head)
    _require_free(address, port)
    token_file = require_token(state.make_token())
    request = NodeRequest(secrets.token_hex(16), token_file, name, labels)
    command = head_command(request, address, port, _ray_folder(request.owner))
    at = f"{address}:{port}"
    membership = Membership("head", name or _HEAD, at, str(token_file), request.owner)
    membership = _start(state, membership, request, command)
    return Started(membership, host_line(at, token_file), address == _LOOPBACK)


def join_head(
    state: StateFolder, address: str, token_file: Path, name: str, labels: Mapping[str, str]
) -> Started:
    """Make this machine a host of the cluster whose head is at this address.

    Raises:
        Unavailable: Ray is not installed, the token is no token or refused, no head answers, or a
            host of this name runs here already.
    """
    require_ray()
    for host in state.hosts():
        if host.name == name:
            if is_running(host.processes):
                raise Unavailable(
                    f"host {name} has joined {host.address} already",
                    hint="`orchestrator fleet leave` ends it; `--name` gives another name",
                )
            _end(state, host)
    path = require_token(token_file)
    require_answer(address)
    request = NodeRequest(secrets.token_hex(16), path, name, labels)
    membership = Membership("host", name, address, str(path), request.owner)
    command = join_command(request, address, _ray_folder(request.owner))
    return Started(_start(state, membership, request, command))


def leave_fleet(state: StateFolder, name: str | None) -> EndedMember:
    """End a host that joined here; the only one if none is named.

    Raises:
        Unavailable: none has joined, or several have and none of them is named.
    """
    hosts = {host.name: host for host in state.hosts()}
    if not hosts:
        raise Unavailable("no host of yours has joined a fleet from this machine")
    if name is None and len(hosts) > 1:
        raise Unavailable(
            f"{len(hosts)} hosts have joined from this machine: {', '.join(hosts)}",
            hint="choose one with `--name`",
        )
    if name is not None and name not in hosts:
        raise Unavailable(f"{name} has not joined from this machine; {', '.join(hosts)} has")
    return _end(state, hosts[name or next(iter(hosts))])


def end_head(state: StateFolder) -> EndedMember:
    """End the head that was started here; its hosts end within a minute.

    Raises:
        Unavailable: none was started.
    """
    head = state.head()
    if head is None:
        raise Unavailable(
            "no head of yours was started on this machine",
            hint="`orchestrator fleet leave` ends a host",
        )
    return _end(state, head)


def _start(
    state: StateFolder, membership: Membership, request: NodeRequest, command: list[str]
) -> Membership:
    """Start it; it is known before it runs, so that nothing is left if we are killed meanwhile."""
    state.save(membership)
    folder = _ray_folder(request.owner).parent
    subject = f"{membership.kind} {membership.name}, at {membership.address}"
    try:
        with translate_os_errors(folder):
            folder.mkdir(mode=0o700)
        processes = start_daemons(command, node_environment(request), subject, START_LIMIT_S)
    except BaseException:
        _end(state, membership)
        raise
    membership = replace(membership, processes=processes)
    state.save(membership)
    return membership


def _end(state: StateFolder, membership: Membership) -> EndedMember:
    count = end_daemons(membership.owner, membership.processes)
    shutil.rmtree(_ray_folder(membership.owner).parent, ignore_errors=True)
    state.forget(membership)
    return EndedMember(membership, count)


def _ray_folder(owner: str) -> Path:
    """The folder for Ray's sockets, whose paths must be short, and its logs.

    Ray opens it to all users: the folder around it is this user's alone.
    """
    return Path(tempfile.gettempdir()) / f"accelmatrix-{owner[:8]}" / "ray"


def _require_free(address: str, port: int) -> None:
    """Check that the address is this machine's and the port is free.

    Raises:
        Unavailable: it is not; names both.
    """
    for host in (address, ""):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as error:
                raise _unusable(address, port, error) from error


def _unusable(address: str, port: int, error: OSError) -> Unavailable:
    if error.errno == errno.EADDRINUSE:
        return Unavailable(
            f"port {port} of this machine is taken", hint="name another one with `--port`"
        )
    return Unavailable(
        f"{address}: no head can listen there: {error.strerror or error}",
        hint="`--address` takes an address of this machine, as `hostname -I` lists them",
    )
