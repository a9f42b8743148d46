"""The driver of a Ray cluster, a program of its own: what Ray prints or ends is not the fleet's.

Its stdin is a socket, over which `RayTransport` hands it one socket for each question. A question
is a line of JSON, and so is its answer; behind that of `begin`, both sides carry the bytes of a
conversation. It ends what it began when nobody holds the other end of stdin.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Thread
from typing import Any, BinaryIO

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

NAME_LABEL = "accelmatrix-name"
"""The label with a host's name in the fleet."""
BEGIN_LIMIT_S = 30.0
"""Seconds for a host program to start, or for another driver's to end."""
BUSY_S = 5.0
"""Seconds after which a driver that still answers for a host counts as at work there."""
_NAMESPACE = "accelmatrix"
_PIECE_BYTES = 1 << 20
"""Most bytes that are carried at once, and those of a pipe."""
_LINES = 3
_PATIENCE_S = 1.0
_GRACE_S = 20.0
"""Seconds for a host program to clean up after its stdin ended."""
_END_S = 2 * _GRACE_S
_ANSWER_S = 5.0
_POLL_S = 0.2
_LEFT_IN_ORDER = 1
"""Ray's number for a node that was asked to end."""


class HostTakenError(Exception):
    """Another driver has the host; says which."""


class Relay:
    """A host program and its streams, in an actor on its host, to which it goes by value."""

    def __init__(self, command: Sequence[str], driver: str) -> None:
        """Start the program; the first word `python` stands for the host's own."""
        words = [sys.executable if word == "python" else word for word in command]
        variables = {name: text for name, text in os.environ.items() if name[:4] != "RAY_"}
        self._driver = driver
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=variables,
            start_new_session=True,
        )
        self._last_lines: deque[str] = deque(maxlen=_LINES)
        self._stderr = Thread(target=self._read_stderr, daemon=True)
        self._stderr.start()

    def driver(self) -> str:
        return self._driver

    def send(self, data: bytes) -> None:
        """Write to the program; what it reads no more is dropped."""
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):
            self._process.stdin.write(data)
            self._process.stdin.flush()

    def receive(self) -> bytes:
        assert self._process.stdout is not None
        return os.read(self._process.stdout.fileno(), _PIECE_BYTES)

    def last_words(self) -> str:
        self._stderr.join(_PATIENCE_S)
        return "; ".join(filter(None, map(str.strip, self._last_lines)))

    def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._last_lines.append(line.decode("utf-8", "replace"))

    def end(self, grace_s: float) -> None:
        """End the program: its stdin ends, so that it cleans up; later it is killed."""
        process = self._process
        assert process.stdin is not None
        # A `send` that is blocked holds the file's lock: the descriptor is what ends the stream.
        with suppress(OSError):
            os.close(os.dup2(os.open(os.devnull, os.O_RDONLY), process.stdin.fileno()))
        try:
            process.wait(grace_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class RayDriver:
    """Answers the questions of one `RayTransport`."""

    def __init__(self) -> None:
        self._actors: dict[str, Any] = {}

    def serve(self, control: socket.socket) -> None:
        """Answer questions, each in a thread of its own, until there are no more; end the rest."""
        served: list[tuple[Thread, socket.socket]] = []
        while True:
            data, descriptors, _, _ = socket.recv_fds(control, 1, 1)
            if not data:
                break
            connection = socket.socket(fileno=descriptors[0])
            thread = Thread(target=self._answer, args=(connection,), daemon=True)
            thread.start()
            served = [*(one for one in served if one[0].is_alive()), (thread, connection)]
        for _, connection in served:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        for thread, _ in served:
            thread.join(_END_S)

    def _answer(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            question = json.loads(stream.readline())
            kind = question.pop("kind")
            answer: object
            try:
                answer = {"answer": getattr(self, kind)(**question)}
            except HostTakenError as error:
                answer = {"busy": str(error)}
            except Exception as error:  # whatever Ray raises
                lines = [line.strip() for line in str(error).splitlines()]
                answer = {"error": next(filter(None, lines), repr(error))}
            with suppress(OSError):
                connection.sendall(json.dumps(answer).encode() + b"\n")
            if kind == "begin" and question["key"] in self._actors:
                self._converse(question["key"], connection, stream)

    def connect(self, address: str) -> None:
        ray.init(
            address=address,
            namespace=_NAMESPACE,
            log_to_driver=False,
            configure_logging=False,
            logging_level="ERROR",
        )

    def nodes(self) -> list[Mapping[str, object]]:
        """The cluster's hosts, dead ones too: those with a name, or all if none has one."""
        nodes = ray.nodes()
        named = [node for node in nodes if NAME_LABEL in node["Labels"]]
        return [_facts(node) for node in named or nodes]

    def holders(self) -> Mapping[str, str]:
        actors = ray.util.list_named_actors(all_namespaces=True)
        names = [actor["name"] for actor in actors if actor["namespace"] == _NAMESPACE]
        return {name: holder for name in names if (holder := _holder(name))}

    def begin(self, key: str, host: str, program: Sequence[str], driver: str | None) -> None:
        """Start the host program on a host; with a driver's name, for that driver alone."""
        nodes = self.nodes()
        node = next((node for node in nodes if node["name"] == host and node["is_alive"]), None)
        if node is None:
            names = ", ".join(sorted({str(node["name"]) for node in nodes})) or "none"
            is_dead = any(node["name"] == host for node in nodes)
            raise LookupError(
                "is dead" if is_dead else f"is not in the cluster, whose hosts are: {names}"
            )
        relay = ray.remote(concurrency_groups={"in": 1, "out": 1, "end": 1})(Relay).options(
            num_cpus=0,
            max_restarts=0,
            max_task_retries=0,
            name=None if driver is None else host,
            namespace=_NAMESPACE,
            scheduling_strategy=NodeAffinitySchedulingStrategy(str(node["id"]), soft=False),
        )
        began = time.monotonic()
        while True:
            try:
                actor = relay.remote(program, driver or "")
                break
            except ray.exceptions.ActorAlreadyExistsError as error:
                waited_s = time.monotonic() - began
                holder = _holder(host) if waited_s > BUSY_S else None
                if holder or waited_s > BEGIN_LIMIT_S:
                    raise HostTakenError(holder or "another driver") from error
                time.sleep(_POLL_S)
        try:
            ready = actor.driver.options(concurrency_group="end").remote()
            ray.get(ready, timeout=BEGIN_LIMIT_S)
        except ray.exceptions.RayError:
            ray.kill(actor)
            raise
        self._actors[key] = actor

    def last_words(self, key: str) -> str:
        actor = self._actors.get(key)
        if actor is None:
            return ""
        words = actor.last_words.options(concurrency_group="end").remote()
        return str(ray.get(words, timeout=_ANSWER_S))

    def _converse(self, key: str, connection: socket.socket, stream: BinaryIO) -> None:
        """Carry bytes until nobody sends any more, and end the host program."""
        actor = self._actors[key]
        Thread(target=_carry_back, args=(actor, connection), daemon=True).start()
        with suppress(OSError, ray.exceptions.RayError):
            while piece := stream.read1(_PIECE_BYTES):  # type: ignore[attr-defined]
                ray.get(actor.send.options(concurrency_group="in").remote(piece))
        with suppress(ray.exceptions.RayError):
            end = actor.end.options(concurrency_group="end").remote(_GRACE_S)
            ray.get(end, timeout=_END_S)
        ray.kill(actor)
        del self._actors[key]


def _holder(host: str) -> str | None:
    """The driver at work on a host; None while its host program starts or ends."""
    with suppress(ValueError, ray.exceptions.RayError):  # it has just ended
        relay = ray.get_actor(host, _NAMESPACE)
        answer = relay.driver.options(concurrency_group="end").remote()
        return str(ray.get(answer, timeout=_ANSWER_S))
    return None


def _carry_back(actor: Any, connection: socket.socket) -> None:
    """Carry what the host program writes, until it, its actor or its host ends."""
    with suppress(OSError, ray.exceptions.RayError):
        while chunk := ray.get(actor.receive.options(concurrency_group="out").remote()):
            connection.sendall(chunk)
    with suppress(OSError):
        connection.shutdown(socket.SHUT_WR)


def _facts(node: Mapping[str, Any]) -> Mapping[str, object]:
    labels = {key: text for key, text in node["Labels"].items() if not key.startswith("ray.io/")}
    return {
        "id": node["NodeID"],
        "name": labels.pop(NAME_LABEL, node["NodeManagerHostname"]),
        "labels": labels,
        "is_alive": bool(node["Alive"]),
        "has_left": not node["Alive"] and node["DeathReason"] == _LEFT_IN_ORDER,
    }


if __name__ == "__main__":
    RayDriver().serve(socket.socket(fileno=0))
    ray.shutdown()
    os._exit(0)  # whatever threads of Ray still wait for
