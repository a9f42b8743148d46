"""The hosts of a fleet: which are there, what each is, and what it does."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from orchestrator.fleet.asking import ASK_LIMIT_S, FactsAnswer, ask_all
from orchestrator.fleet.host import HostFacts
from orchestrator.fleet.membership import StateFolder, require_member, require_token
from orchestrator.fleet.transport import FleetHost, Transport
from orchestrator.fleet.transports.ray import RayTransport

HostState = Literal["free", "busy", "dead", "silent"]


@dataclass(frozen=True)
class HostStatus:
    """A host at one moment."""

    host: FleetHost
    state: HostState
    """`silent` hosts are there for the transport, and did not answer our question."""
    busy_with: str | None = None
    """The driver whose order it executes."""
    beat_s: float | None = None
    """Seconds since 1970 at which it was last known to be alive, by its own answer."""
    facts: HostFacts | None = None
    """Those that it told; a busy host is not asked, for that would disturb what it measures."""
    problem: str | None = None
    """The reason why there are no facts."""
    hint: str | None = None


@contextmanager
def ray_fleet(
    state: StateFolder, address: str | None, token_file: Path | None
) -> Iterator[RayTransport]:
    """Connect to a cluster: the one named, else the one that was made or joined here.

    Raises:
        Unavailable: none is known, or it does not answer.
    """
    if address is None:
        member = require_member(state)
        address, token_file = member.address, token_file or Path(member.token_file)
    token = None if token_file is None else require_token(token_file)
    transport = RayTransport(address, token, exclusive=False)
    try:
        yield transport
    finally:
        transport.close()


def fleet_status(transport: RayTransport, limit_s: float = ASK_LIMIT_S) -> Sequence[HostStatus]:
    """Every host of a Ray cluster: free ones are asked, busy and dead ones are left alone."""
    hosts = transport.hosts()
    return [
        *host_states(transport, hosts, transport.holders(), limit_s),
        *(HostStatus(host, "dead", problem="died") for host in transport.lost_hosts()),
    ]


def host_states(
    transport: Transport,
    hosts: Sequence[FleetHost],
    holders: Mapping[str, str],
    limit_s: float = ASK_LIMIT_S,
) -> Sequence[HostStatus]:
    """The state of each of these hosts.

    Args:
        transport: the way to them.
        hosts: those that are there.
        holders: the driver at work on each busy host, by the host's name.
        limit_s: seconds for their answers.
    """
    answers = ask_all(transport, [host.name for host in hosts if host.name not in holders], limit_s)
    return [
        HostStatus(host, "busy", busy_with=holders[host.name])
        if host.name in holders
        else _answered(host, answers[host.name])
        for host in hosts
    ]


def _answered(host: FleetHost, answer: FactsAnswer) -> HostStatus:
    if isinstance(answer, HostFacts):
        return HostStatus(host, "free", beat_s=time.time(), facts=answer)
    return HostStatus(host, "silent", problem=str(answer), hint=answer.hint)
