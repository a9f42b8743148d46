"""Ray as a transport: an actor pinned to a host runs the host program there and carries bytes.

The dispatcher is ours: Ray neither chooses a host nor tries anything again.
"""

import json
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

from orchestrator.fleet.transport import (
    HOST_MODULE,
    FleetHost,
    HostBusy,
    StreamConversation,
    TransportName,
)
from runner.contract.errors import Unavailable

_HOST_PROGRAM = ("python", *HOST_MODULE)
_DRIVER = "orchestrator.fleet.transports.ray_driver"
_CONNECT_S = 60.0
_ANSWER_S = 15.0
"""Seconds for the head to answer: Ray itself waits for a minute, and then ends its process."""
_BEGIN_S = 75.0
"""The same for a host: until another driver's program has ended and ours has started."""
_LEAVE_S = 45.0
"""Seconds for the host programs to clean up, before Ray ends them with its driver."""
_LEAST_TOKEN = 16


class RayTransport:
    """The hosts of a Ray cluster, of which a process of ours is a driver until `close`."""

    name: TransportName = "ray"

    def __init__(
        self,
        address: str,
        token_file: Path | None,
        *,
        program: Sequence[str] = _HOST_PROGRAM,
        exclusive: bool = True,
    ) -> None:
        """Connect to the cluster whose head has this address.

        Without a token's file Ray finds one by its own rules. The word `python` in `program` is the
        host's own. `exclusive`: no other driver may use a host at the same time.
        """
        if find_spec("ray") is None:
            raise Unavailable(
                "a fleet on Ray needs Ray, which is not installed here",
                hint="`pip install 'accelmatrix[fleet]'` in the environment of orchestrator",
            )
        _require_listener(address)
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token_file)}
        self._program = tuple(program)
        self._holder = f"{socket.gethostname()}, pid {os.getpid()}" if exclusive else None
        self._lock = Lock()
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", _DRIVER],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | (token if token_file else {}),
                start_new_session=True,
            )
        try:
            self._ask(_CONNECT_S, kind="connect", address=address)
        except Unavailable as error:
            self._process.kill()
            self.close()
            raise Unavailable(
                f"the Ray cluster at {address} refuses this driver: {error}",
                hint="a wrong token (`--token-file`) or variables of TLS that differ are the usual "
                "reasons; this machine must be the head or have joined by `ray start`",
            ) from error

    def hosts(self) -> Sequence[FleetHost]:
        hosts = [_host(node) for node in self._nodes() if node["is_alive"]]
        names = [host.name for host in hosts]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise Unavailable(
                f"several hosts of the cluster are called {', '.join(twice)}",
                hint="`ray start --labels=accelmatrix-name=NAME` gives a host a name of its own",
            )
        return sorted(hosts, key=lambda host: host.name)

    def lost_hosts(self) -> Sequence[FleetHost]:
        """The hosts that died and did not come again; those that left in order are none."""
        nodes = self._nodes()
        alive = {node["name"] for node in nodes if node["is_alive"]}
        lost = {node["name"]: _host(node) for node in nodes if not node["has_left"]}
        return [host for name, host in sorted(lost.items()) if name not in alive]

    def holders(self) -> Mapping[str, str]:
        """The driver at work on each busy host, by the host's name."""
        holders: Mapping[str, str] = self._ask(_ANSWER_S, kind="holders")
        return holders

    def begin(self, host: str) -> "RayConversation":
        key = secrets.token_hex(8)
        question = {"key": key, "host": host, "program": self._program, "driver": self._holder}
        try:
            connection = self._open(kind="begin", **question)
            stream = connection.makefile("rb")
            _answer(connection, stream, _BEGIN_S)
        except HostBusy as error:
            raise HostBusy(
                f"host {host}: is busy: {error} executes an order there",
                hint="a host executes one order at a time; `orchestrator fleet status` shows it",
            ) from error
        except Unavailable as error:
            raise Unavailable(f"host {host}: {error}") from error
        return RayConversation(connection, stream, self, key)

    def last_words(self, key: str) -> str:
        """The end of what the host program of a conversation wrote to stderr, if anybody knows."""
        with suppress(Unavailable):
            return str(self._ask(_ANSWER_S, kind="last_words", key=key))
        return ""

    def close(self) -> None:
        """Leave the cluster; what this driver began there ends, hosts go on."""
        self._control.close()
        try:
            self._process.wait(_LEAVE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _nodes(self) -> Sequence[Mapping[str, Any]]:
        nodes: Sequence[Mapping[str, Any]] = self._ask(_ANSWER_S, kind="nodes")
        return nodes

    def _ask(self, limit_s: float, **question: object) -> Any:
        with self._open(**question) as connection, connection.makefile("rb") as stream:
            return _answer(connection, stream, limit_s)

    def _open(self, **question: object) -> socket.socket:
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._lock:
                socket.send_fds(self._control, [b"."], [theirs.fileno()])
            ours.sendall(json.dumps(question).encode() + b"\n")
        except OSError as error:
            ours.close()
            raise Unavailable("the driver has left the cluster, or Ray has ended it") from error
        return ours


class RayConversation(StreamConversation):
    """A host program under way behind an actor."""

    def __init__(
        self, connection: socket.socket, stream: Any, transport: RayTransport, key: str
    ) -> None:
        super().__init__(connection.makefile("wb"), stream)
        self._connection, self._transport, self._key = connection, transport, key
        self._has_ended = False

    def end(self) -> None:
        """End it at once: the host program's stdin ends; one that does not heed it is killed."""
        self._has_ended = True
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def last_words(self) -> str:
        """The end of what the host program wrote to stderr, unless it was ended by us."""
        return "" if self._has_ended else self._transport.last_words(self._key)


def _answer(connection: socket.socket, stream: Any, limit_s: float) -> Any:
    connection.settimeout(limit_s)
    try:
        line = stream.readline()
    except TimeoutError as error:
        connection.close()
        raise Unavailable(f"the head did not answer within {limit_s:.0f} s") from error
    except OSError as error:
        raise Unavailable(f"the driver of Ray has ended: {error}") from error
    connection.settimeout(None)
    if not line:
        raise Unavailable("the driver of Ray has ended; the head may be gone")
    answer = json.loads(line)
    if busy := answer.get("busy"):
        raise HostBusy(busy)
    if fault := answer.get("error"):
        raise Unavailable(fault)
    return answer["answer"]


def _host(node: Mapping[str, Any]) -> FleetHost:
    return FleetHost(node["name"], "ray", node["labels"])


def _require_listener(address: str) -> None:
    """Check that something listens at an address, for which Ray would wait for a minute."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise Unavailable(
            f"{address!r} is no address of a head", hint="it looks like 192.0.2.7:6379"
        )
    try:
        socket.create_connection((host, int(port)), 5.0).close()
    except OSError as error:
        raise Unavailable(
            f"no head answers at {address}: {error.strerror or error}",
            hint="`ray start --head` on that machine starts one; a firewall may be between",
        ) from error


def require_token(path: Path) -> Path:
    """The token's file, if it holds one that nobody else can read."""
    hint = "copy the token's file of the head's machine"
    try:
        text, mode = path.read_text("utf-8").strip(), path.stat().st_mode
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise Unavailable(f"the token's file {path} cannot be read: {reason}", hint=hint) from error
    if len(text) < _LEAST_TOKEN or len(text.split()) != 1:
        least = f"at least {_LEAST_TOKEN} letters"
        raise Unavailable(f"the token's file {path} holds no token of {least}", hint=hint)
    if mode & 0o077:
        raise Unavailable(
            f"the token's file {path} can be read by others (mode {mode & 0o777:o})",
            hint=f"whoever holds it executes code on every host: `chmod 600 {path}`",
        )
    return path.absolute()
