"""The hosts of a fleet: which are there, what each is and does, and what it lacks."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from orchestrator.commands.fleet.hosts import open_fleet
from orchestrator.fleet.choice import FleetHosts
from orchestrator.fleet.host import HostFacts
from orchestrator.fleet.journal import HostJournal, LostOrder
from orchestrator.fleet.presence import ASK_LIMIT_S, FactsAnswer, ask_all
from orchestrator.fleet.transport import FleetHost, Transport
from orchestrator.fleet.transports.ray import RayTransport
from orchestrator.screen.words.reasons import error_hint, error_text
from runner.contract.cell import Backend

HostState = Literal["free", "busy", "dead", "silent"]


@dataclass(frozen=True)
class HostStatus:
    """A host at one moment."""

    host: FleetHost
    state: HostState
    """`silent` hosts are there for the transport, and did not answer our question."""
    busy_with: str | None = None
    """The driver whose order it executes."""
    work: str | None = None
    """The run and unit that a driver of this user's has there; None if nobody knows."""
    lost: tuple[LostOrder, ...] = ()
    """Orders of this user's that it lost, the oldest first."""
    beat_s: float | None = None
    """Seconds since 1970 at which it was last known to be alive, by its own answer."""
    facts: HostFacts | None = None
    """Those that it told, a busy host earlier: asking it would disturb what it measures."""
    problem: str | None = None
    """The reason why there are no facts."""
    hint: str | None = None


def fleet_status(
    transports: Sequence[Transport],
    choice: FleetHosts,
    journal: HostJournal,
    limit_s: float = ASK_LIMIT_S,
) -> Sequence[HostStatus]:
    """Every host that is chosen: free ones are asked, busy and dead ones are left alone."""
    statuses: list[HostStatus] = []
    for transport in transports:
        hosts = transport.hosts()
        busy = {host.name: held for host in hosts if (held := journal.of(host.name).holder)}
        if isinstance(transport, RayTransport):
            busy |= transport.holders()
            dead = transport.lost_hosts()
            statuses += [HostStatus(host, "dead", problem="died") for host in dead]
        statuses += host_states(transport, hosts, busy, limit_s)
    chosen = choice.chosen_hosts([status.host.name for status in statuses])
    journal.keep_facts({one.host.name: one.facts for one in statuses if one.facts})
    return [_completed(one, journal) for one in statuses if one.host.name in chosen]


def _completed(status: HostStatus, journal: HostJournal) -> HostStatus:
    """The status with what the journal knows: of a busy host, what it answered last."""
    entry = journal.of(status.host.name)
    known = replace(status, lost=entry.lost)
    if status.facts is not None:
        return known
    known = replace(known, facts=entry.facts, beat_s=entry.asked_s)
    is_ours = status.busy_with is not None and entry.holder is not None
    return replace(known, work=entry.work) if is_ours else known


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
    return HostStatus(host, "silent", problem=error_text(answer), hint=error_hint(answer))


@dataclass(frozen=True)
class HostDiagnosis:
    """One backend on one host, or a host that does not answer."""

    host: str
    backend: Backend | None
    """The backend; None for a host that says nothing."""
    reason: str
    """The things that are missing."""
    remedy: str | None
    """The way to them."""


@dataclass(frozen=True)
class FleetDiagnosis:
    """All that the hosts of a fleet lack."""

    runs: dict[str, tuple[Backend, ...]]
    """The backends that each host can measure, by the names of those that answer."""
    lacks: tuple[HostDiagnosis, ...]

    @property
    def silent(self) -> int:
        """Number of hosts that do not answer."""
        return sum(row.backend is None for row in self.lacks)


def diagnose_fleet(choice: FleetHosts, backends: tuple[Backend, ...]) -> FleetDiagnosis:
    """Ask each host what it is, and tell what it lacks of these backends."""
    runs, lacks = dict[str, tuple[Backend, ...]](), list[HostDiagnosis]()
    with open_fleet(choice) as fleet:
        for transport in dict.fromkeys(fleet.values()):
            names = [name for name, way in fleet.items() if way is transport]
            for name, answer in ask_all(transport, names).items():
                if not isinstance(answer, HostFacts):
                    lacks.append(HostDiagnosis(name, None, error_text(answer), error_hint(answer)))
                    continue
                runs[name] = tuple(one for one in backends if one not in answer.unavailable)
                lacks += [
                    HostDiagnosis(name, one, reason, answer.remedies.get(one))
                    for one in backends
                    if (reason := answer.unavailable.get(one))
                ]
    return FleetDiagnosis(runs, tuple(lacks))
