"""Ray as a transport: an actor pinned to a host runs the host program there and carries bytes.

The dispatcher is ours: Ray neither chooses a host nor tries anything again.
"""

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.fleet.transport import HOST_MODULE, FleetHost, HostBusy, TransportName
from orchestrator.fleet.transports.ray_address import require_answer
from orchestrator.fleet.transports.ray_calls import LeftCluster, RayCalls
from orchestrator.fleet.transports.ray_conversation import RayConversation
from orchestrator.fleet.transports.ray_nodes import (
    HeadAnswers,
    RayNode,
    cluster_nodes,
    named_actors,
)
from orchestrator.fleet.transports.ray_relay import Relay
from orchestrator.fleet.transports.ray_settings import HOST_RESOURCE, ray_environment
from runner.contract.errors import Unavailable

_HOST_PROGRAM = ("python", *HOST_MODULE)
_INSTALL_HINT = "`pip install 'accelmatrix[fleet]'` in the environment of orchestrator"
BEGIN_LIMIT_S = 30.0
"""Seconds for a host program to start, or for another driver's to end."""
_WATCH_S = 1.0
_SILENCE_S = 45.0
"""Seconds after which a silent head is gone, and its hosts with it: they end after a minute."""
_RECONNECT = {"RAY_gcs_rpc_server_reconnect_timeout_s": "86400"}
"""With Ray's default a driver whose head is gone is ended by Ray, in the middle of its work."""
_LEAVE_S = 10.0
"""Seconds for the calls under way to return; else Ray's library is left to the process' end."""
_NAMESPACE = "accelmatrix"
_Answer = TypeVar("_Answer")


def require_ray() -> None:
    """Check that Ray is installed.

    Raises:
        Unavailable: it is not.
    """
    from importlib.util import find_spec

    if find_spec("ray") is None:
        raise Unavailable(
            "a fleet on Ray needs Ray, which is not installed here", hint=_INSTALL_HINT
        )


class RayTransport:
    """The hosts of a Ray cluster. This process is its driver until `close`."""

    name: TransportName = "ray"

    def __init__(
        self,
        address: str,
        token_file: Path | None,
        *,
        program: Sequence[str] = _HOST_PROGRAM,
        exclusive: bool = True,
    ) -> None:
        """Connect to a cluster.

        Args:
            address: the head's address and port.
            token_file: the cluster's token; None for Ray's own rules, for a cluster that is not
                ours.
            program: the command line of the host program; `python` is the host's own.
            exclusive: True if no other driver may use a host at the same time.

        Raises:
            Unavailable: Ray is not installed, or the cluster does not answer.
        """
        require_ray()
        self._program, self._exclusive = tuple(program), exclusive
        self._lock = threading.Lock()
        self._dead_nodes: set[str] = set()
        _connect(address, token_file)
        self._calls = RayCalls()
        self._head = HeadAnswers()
        self._closed = threading.Event()
        self._look()
        threading.Thread(target=self._watch, name="ray-watch", daemon=True).start()

    def hosts(self) -> Sequence[FleetHost]:
        """The hosts that are alive.

        Raises:
            Unavailable: two of them have one name.
        """
        self._look()
        alive = [node.host for node in self._known() if self._is_alive(node)]
        names = [host.name for host in alive]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise Unavailable(
                f"several hosts of the cluster are called {', '.join(twice)}",
                hint="`orchestrator fleet leave` on one, then join again with `--name`",
            )
        return sorted(alive, key=lambda host: host.name)

    def lost_hosts(self) -> Sequence[FleetHost]:
        """The hosts that died and did not come again; those that left in order are none."""
        lost = {node.host.name: node.host for node in self._known() if not node.has_left}
        return [host for name, host in sorted(lost.items()) if self.is_dead(name)]

    def holders(self) -> Mapping[str, str]:
        """The driver at work on each busy host, by the host's name.

        Raises:
            Unavailable: the head does not answer.
        """
        named = self._ask(named_actors)
        ours = (actor["name"] for actor in named if actor["namespace"] == _NAMESPACE)
        pairs = (name.split("|") for name in ours if name.count("|") == 2)
        return {host: driver for host, driver, _ in pairs}

    def begin(self, host: str) -> RayConversation:
        """Start the host program on this host.

        Raises:
            HostBusy: another driver's order is executed there.
            Unavailable: the host is unknown or dead, or cannot start it.
        """
        import ray

        if not self._is_silent and not any(
            node.host.name == host and self._is_alive(node) for node in self._known()
        ):
            self._look()
        node = self._alive_node(host)
        try:
            with self._calls.one():
                actor = self._actor(node)
                ready = actor.ready.options(concurrency_group="end").remote()
            if not self._calls.is_ready(ready, BEGIN_LIMIT_S, self._closed.is_set):
                raise self._not_ready(host, actor)
            with self._calls.one():
                ray.get(ready)
                return RayConversation(
                    actor,
                    self._calls,
                    lambda: self._is_gone(node.id),
                    lambda error: self._note_death(node, error),
                )
        except LeftCluster as error:
            raise Unavailable(f"host {host}: the driver has left the cluster") from error
        except ray.exceptions.RayError as error:
            self._note_death(node, error)
            raise Unavailable(f"host {host}: {_first_line(error)}") from error

    def _not_ready(self, host: str, actor: Any) -> Unavailable:
        """End the actor that did not begin in time; the error that says why."""
        import ray

        with self._calls.one():
            ray.kill(actor)
        holder = None
        with contextlib.suppress(Unavailable):
            holder = self.holders().get(host)
        reason = f"is busy: {holder} executes an order there" if holder else "did not answer"
        return (HostBusy if holder else Unavailable)(
            f"host {host}: {reason} (waited {BEGIN_LIMIT_S:.0f} s)",
            hint="a host executes one order at a time; `orchestrator fleet status` shows it",
        )

    def is_dead(self, host: str) -> bool:
        """True if the transport knows that the host is gone; False if it does not know."""
        nodes = [node for node in self._known() if node.host.name == host]
        return bool(nodes) and not any(map(self._is_alive, nodes))

    def close(self) -> None:
        """Leave the cluster; what this driver began there ends, hosts go on."""
        import ray

        self._closed.set()
        self._head.close()
        if self._calls.leave(_LEAVE_S):
            ray.shutdown()

    def _actor(self, node: RayNode) -> Any:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        ray.cloudpickle.register_pickle_by_value(__import__(Relay.__module__, fromlist=["Relay"]))
        driver = f"{socket.gethostname()}, pid {os.getpid()}"
        resources = {HOST_RESOURCE: 1} if self._exclusive and node.is_exclusive else {}
        # Its life is the driver's: Ray ends it with the driver, however that dies.
        return (
            ray.remote(concurrency_groups={"in": 1, "out": 1, "end": 1})(Relay)
            .options(
                num_cpus=0,
                resources=resources,
                max_restarts=0,
                max_task_retries=0,
                name=f"{node.host.name}|{driver}|{time.time_ns()}" if resources else None,
                namespace=_NAMESPACE,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False),
            )
            .remote(self._program, ("RAY_",))
        )

    def _alive_node(self, host: str) -> RayNode:
        nodes = [node for node in self._known() if node.host.name == host]
        for node in nodes:
            if self._is_alive(node):
                return node
        if nodes:
            raise Unavailable(
                f"host {host}: is dead",
                hint="join it again: `orchestrator fleet join` on that machine",
            )
        names = ", ".join(sorted({node.host.name for node in self._known()}))
        raise Unavailable(f"host {host}: is not in the cluster, whose hosts are: {names or 'none'}")

    def _known(self) -> Sequence[RayNode]:
        with self._lock:
            return self._nodes

    def _is_alive(self, node: RayNode) -> bool:
        with self._lock:
            return node.is_alive and not self._is_silent and node.id not in self._dead_nodes

    @property
    def _is_silent(self) -> bool:
        """True if the head has not answered the watch for long."""
        return time.monotonic() - self._looked_s > _SILENCE_S

    def _is_gone(self, node_id: str) -> bool:
        node = next((node for node in self._known() if node.id == node_id), None)
        return node is None or not self._is_alive(node)

    def _ask(self, question: Callable[[], _Answer]) -> _Answer:
        def call() -> _Answer:
            with self._calls.one():
                return question()

        return self._head.within(call)

    def _look(self) -> None:
        nodes = self._ask(cluster_nodes)
        with self._lock:
            self._nodes, self._looked_s = nodes, time.monotonic()

    def _watch(self) -> None:
        """Look at the cluster's nodes until the transport is closed."""
        while not self._closed.wait(_WATCH_S):
            with contextlib.suppress(Unavailable):  # nothing is known then
                self._look()

    def _note_death(self, node: RayNode, error: BaseException) -> None:
        """Ray may know of a death by an actor's error before its list of nodes says so."""
        import ray

        died = (ray.exceptions.ActorDiedError, ray.exceptions.ActorUnavailableError)
        if isinstance(error, died) and "node" in str(error) and "died" in str(error):
            with self._lock:
                self._dead_nodes.add(node.id)


def _connect(address: str, token_file: Path | None) -> None:
    """Become a driver of the cluster.

    Raises:
        Unavailable: nothing listens there, or it refuses.
    """
    os.environ.update(ray_environment(token_file) | _RECONNECT)
    require_answer(address)
    import ray

    library: Any = ray._raylet
    library.AuthenticationTokenLoader.instance().reset_cache()  # it keeps a process' first token

    # Ray prints deaths of nodes on stdout, where our results go; `is_dead` tells of them.
    ray._private.worker.listen_error_messages = _hear_nothing
    try:
        with _own_signals():
            ray.init(
                address=address,
                namespace=_NAMESPACE,
                log_to_driver=False,
                configure_logging=False,
                logging_level="ERROR",
            )
    except Exception as error:
        ray.shutdown()
        raise Unavailable(
            f"the Ray cluster at {address} refuses this driver: {_first_line(error)}",
            hint="a wrong token is the usual reason: name the file that `orchestrator fleet up` "
            "made with `--token-file`; the machine must be the head's or one that joined",
        ) from error


def _hear_nothing(*ignored: object) -> None:
    """Stand in for the thread in which Ray listens to errors of all nodes."""


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Keep this program's reaction to signals, which Ray replaces."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    handlers = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in handlers.items():
                signal.signal(number, handler)


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), repr(error))
