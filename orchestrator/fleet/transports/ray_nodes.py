"""The nodes of a Ray cluster, asked of its head with a time limit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from orchestrator.fleet.transport import FleetHost
from orchestrator.fleet.transports.ray_settings import HEAD_LABEL, HOST_RESOURCE, NAME_LABEL
from orchestrator.system.threads import ThreadedWork, WorkThread
from runner.contract.errors import Unavailable

_ANSWER_S = 10.0
"""Seconds for the head to answer. Ray itself waits for a day, so that a driver outlives its head.
"""
_LEFT_IN_ORDER = 1
"""Ray's number for a node that was asked to end."""
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class RayNode:
    """A node of the cluster that is a host."""

    id: str
    host: FleetHost
    is_alive: bool
    has_left: bool
    """True if it ended in order."""
    is_exclusive: bool
    """True if it has the resource that one driver holds at a time."""


class HeadAnswers:
    """Asks the head, in a thread that alone waits if it does not answer."""

    def __init__(self, limit_s: float = _ANSWER_S) -> None:
        self._limit_s = limit_s
        self._thread = WorkThread()
        self._lock = Lock()
        self._late: ThreadedWork[Any] | None = None
        """A question that was not answered in time."""

    def within(self, question: Callable[[], _Answer]) -> _Answer:
        """The answer to a question.

        Raises:
            Unavailable: there is none in time, nor yet to an earlier one, or Ray refuses.
        """
        with self._lock:
            is_late = self._late is not None and not self._late.is_done
            work = None if is_late else self._thread.submit(question)
        if work is None:
            raise Unavailable(f"the head has not answered for {self._limit_s:.0f} s")
        try:
            return work.result(self._limit_s)
        except TimeoutError as error:
            with self._lock:
                self._late = work
            raise Unavailable(f"the head did not answer within {self._limit_s:.0f} s") from error
        except Exception as error:  # whatever Ray raises, nothing is known then
            raise Unavailable(f"the head cannot be asked: {error}") from error

    def close(self) -> None:
        """Ask no more."""
        self._thread.abandon()


def named_actors() -> list[dict[str, str]]:
    """The names of the cluster's actors."""
    import ray

    return list(ray.util.list_named_actors(all_namespaces=True))


def cluster_nodes() -> list[RayNode]:
    """The cluster's hosts, dead ones too: those with a name; all of a cluster that isn't ours."""
    import ray

    nodes = ray.nodes()
    ours = any(HEAD_LABEL in node["Labels"] or NAME_LABEL in node["Labels"] for node in nodes)
    return [
        _node(node, node["Labels"].get(NAME_LABEL, node["NodeManagerHostname"]))
        for node in nodes
        if NAME_LABEL in node["Labels"] or not ours
    ]


def _node(node: Mapping[str, Any], name: str) -> RayNode:
    labels = {
        key: text
        for key, text in node["Labels"].items()
        if not key.startswith("ray.io/") and key not in {NAME_LABEL, HEAD_LABEL}
    }
    return RayNode(
        node["NodeID"],
        FleetHost(name, "ray", labels),
        bool(node["Alive"]),
        not node["Alive"] and node["DeathReason"] == _LEFT_IN_ORDER,
        node["Resources"].get(HOST_RESOURCE, 0) > 0,
    )
