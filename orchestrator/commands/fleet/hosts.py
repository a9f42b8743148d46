"""The hosts of a fleet: chosen, found, asked what they are and do, and what each lacks."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import runner
from orchestrator.backends.catalogue import LauncherName
from orchestrator.fleet.choice import FleetHosts
from orchestrator.fleet.host import HostFacts, HostJournal, LostOrder, journal_folder
from orchestrator.fleet.hosts_file import read_hosts_file
from orchestrator.fleet.messages import FactsWanted
from orchestrator.fleet.presence import (
    ASK_LIMIT_S,
    FactsAnswer,
    Presence,
    Reach,
    ask_all,
    ask_facts,
)
from orchestrator.fleet.transport import FleetHost, HostBusy, Transport
from orchestrator.fleet.transports.commands import CommandTransport
from orchestrator.fleet.transports.ray import RayTransport, require_token
from orchestrator.images.source import runner_digest
from orchestrator.running.options import RunOptions
from orchestrator.screen.words.reasons import error_hint, error_text
from runner.contract.axes import Backend
from runner.contract.errors import BenchError, Unavailable, UsageError

Ways = Mapping[str, Transport]
"""The way to each host, by the host's name."""


@contextmanager
def open_transports(choice: FleetHosts, *, exclusive: bool) -> Iterator[Sequence[Transport]]:
    """The ways to all hosts of a file and of a Ray cluster."""
    with ExitStack() as stack:
        transports = [*_of_file(choice.hosts_file), *_of_ray(choice, exclusive=exclusive)]
        for transport in transports:
            stack.callback(transport.close)
        yield transports


@contextmanager
def open_fleet(choice: FleetHosts) -> Iterator[Ways]:
    """The way to each host that a command chooses, which no other driver may use meanwhile."""
    with open_transports(choice, exclusive=True) as transports:
        reachable = [(host, transport) for transport in transports for host in transport.hosts()]
        ways: dict[str, Transport] = {}
        for host, transport in reachable:
            if host.name in ways:
                raise UsageError(
                    f"two hosts have the name {host.name!r}: by {ways[host.name].name} and by"
                    f" {transport.name}",
                    hint="give one of them another name",
                )
            ways[host.name] = transport
        if not ways:
            raise Unavailable(
                "the fleet has no host", hint="`ray start --address=ADDRESS` on a machine adds it"
            )
        yield {name: ways[name] for name in choice.chosen_hosts(list(ways))}


def _of_file(path: Path | None) -> Iterator[Transport]:
    entries = read_hosts_file(path) if path else ()
    kinds: tuple[Literal["ssh", "slurm"], ...] = ("ssh", "slurm")
    for kind in kinds:
        if of_kind := [entry for entry in entries if entry.transport == kind]:
            yield CommandTransport(kind, of_kind)


def _of_ray(choice: FleetHosts, *, exclusive: bool) -> Iterator[Transport]:
    address, token_file = choice.address, choice.token_file
    if address is None and (choice.hosts_file is None or token_file is not None):
        address = os.environ.get("RAY_ADDRESS")
        if not address:
            raise Unavailable(
                "no fleet is named",
                hint="`--address` names the head of a Ray cluster, `--hosts-file` a file of hosts"
                " that ssh or Slurm reach: docs/fleet.md",
            )
    if address is not None:
        token = None if token_file is None else require_token(token_file)
        yield RayTransport(address, token, exclusive=exclusive)


@dataclass(frozen=True)
class ReachedFleet:
    """The hosts of a fleet that can be asked, and what they are."""

    facts: Mapping[str, HostFacts]
    """The facts about those that answered and may measure, by name."""
    launcher: LauncherName
    """The launcher of all of them: what one measures must be comparable to the other's results."""
    presence: Presence
    """Those, and hosts that another driver has, which come when they are free."""


def reach(
    fleet: Ways, options: RunOptions, note: Callable[[str], None], *, every: bool = False
) -> ReachedFleet:
    """Ask each host what it is; one that does not answer or may not measure is noted and left out.

    A host that another driver has is not asked, for that would disturb what it measures. `every`
    waits for each busy host, since its class may be one of its own; else one that answers is enough
    to begin.
    """
    question = FactsWanted(launcher=options.launcher, purpose=options.purpose)
    answers = _awaited(fleet, question, note, every=every)
    kinds = {answer.launcher for answer in answers.values() if isinstance(answer, HostFacts)}
    launcher: LauncherName = "process" if len(kinds) > 1 else next(iter(kinds), "process")
    question = question.model_copy(update={"launcher": launcher})
    others = [
        name
        for name, answer in answers.items()
        if isinstance(answer, HostFacts) and answer.launcher != launcher
    ]
    answers |= ask_all({name: fleet[name] for name in others}, question=question)
    hosts, errors = dict[str, Reach](), list[BenchError]()
    for name, answer in answers.items():
        if isinstance(answer, HostBusy):
            errors.append(answer)
            note(f"host {name} is busy; it comes when it is free")
        elif isinstance(fault := _fault(name, answer), BenchError):
            errors.append(fault)
            note(f"{error_text(fault)}; it is left out")
        elif isinstance(answer, HostFacts):
            hosts[name] = Reach(fleet[name], answer)
    known = {name: host.facts for name, host in hosts.items()}
    own_journal().keep_facts(known)
    if not hosts:
        raise Unavailable(
            f"no host of the fleet answers: {error_text(errors[0])}", hint=error_hint(errors[0])
        )
    for line in _differing_images(known):
        note(line)
    busy = {name: fleet[name] for name, one in answers.items() if isinstance(one, HostBusy)}

    def ask(transport: Transport, host: str) -> HostFacts:
        facts = ask_facts(transport, host, question=question)
        if (fault := _fault(host, facts)) is not None:
            raise fault
        return facts

    return ReachedFleet(known, launcher, Presence(hosts, busy, ask))


def _awaited(
    fleet: Ways, question: FactsWanted, note: Callable[[str], None], *, every: bool
) -> dict[str, FactsAnswer]:
    """The answers of all hosts, once enough of those that are busy have become free."""
    answers = ask_all(fleet, question=question)
    is_noted = False
    while busy := [name for name, answer in answers.items() if isinstance(answer, HostBusy)]:
        if not every and any(isinstance(answer, HostFacts) for answer in answers.values()):
            break
        if not is_noted:
            note(f"waiting for {', '.join(busy)}: {answers[busy[0]]}")
            is_noted = True
        answers |= ask_all({name: fleet[name] for name in busy}, question=question)
    return answers


def _fault(name: str, answer: FactsAnswer) -> BenchError | None:
    """The reason why a host cannot measure anything; None if there is none."""
    if isinstance(answer, Unavailable):
        return answer
    if answer.version != runner.__version__:
        return Unavailable(
            f"host {name}: has accelmatrix {answer.version}, the driver {runner.__version__}",
            hint="install the same version on both",
        )
    if answer.sources not in (None, runner_digest()):
        return Unavailable(
            f"host {name}: has other sources of the runner than the driver",
            hint="install the same commit on both",
        )
    return None


def _differing_images(hosts: Mapping[str, HostFacts]) -> Iterator[str]:
    """Yield a line for each backend of which hosts have images of several digests."""
    images: dict[Backend, dict[str, list[str]]] = {}
    for name, facts in hosts.items():
        for backend, digest in facts.images.items():
            images.setdefault(backend, {}).setdefault(digest, []).append(name)
    for backend, names in sorted(images.items()):
        if len(names) > 1:
            groups = "; ".join(", ".join(group) for group in names.values())
            yield (
                f"hosts have different images of {backend}, each made there of these sources:"
                f" {groups}; `--image {backend}=NAME@sha256:…` gives all of them one"
            )


def own_journal() -> HostJournal:
    """The journal of this user's drivers; nothing is kept for a user without a home."""
    return HostJournal(journal_folder(os.environ))


HostState = Literal["free", "busy", "dead", "silent"]


@dataclass(frozen=True)
class HostStatus:
    """A host at one moment."""

    host: FleetHost
    state: HostState
    """`silent` hosts are there for the transport, and did not answer our question."""
    busy_with: str | None = None
    work: str | None = None
    """The run and unit that a driver of this user's has there; None if nobody knows."""
    lost: tuple[LostOrder, ...] = ()
    """Orders of this user's that it lost, the oldest first."""
    beat_s: float | None = None
    """Seconds since 1970 at which it was last known to be alive, by its own answer."""
    facts: HostFacts | None = None
    """Those that it told, a busy host earlier: asking it would disturb what it measures."""
    problem: str | None = None
    hint: str | None = None


def fleet_status(
    transports: Sequence[Transport], choice: FleetHosts, journal: HostJournal
) -> Sequence[HostStatus]:
    """Every host that is chosen: free ones are asked, busy and dead ones are left alone."""
    reached = [(transport, transport.hosts(), _dead_hosts(transport)) for transport in transports]
    names = [host.name for _, alive, dead in reached for host in (*alive, *dead)]
    chosen = choice.chosen_hosts(names)
    statuses: list[HostStatus] = []
    for transport, alive, dead in reached:
        hosts = [host for host in alive if host.name in chosen]
        busy = {host.name: held for host in hosts if (held := journal.of(host.name).holder)}
        if isinstance(transport, RayTransport):
            busy |= transport.holders()
        statuses += [HostStatus(one, "dead", problem="died") for one in dead if one.name in chosen]
        statuses += host_states(transport, hosts, busy)
    journal.keep_facts({one.host.name: one.facts for one in statuses if one.facts})
    return [_completed(one, journal) for one in statuses]


def _dead_hosts(transport: Transport) -> Sequence[FleetHost]:
    return transport.lost_hosts() if isinstance(transport, RayTransport) else ()


def _completed(status: HostStatus, journal: HostJournal) -> HostStatus:
    """The status with what the journal knows: of a busy host, what it answered last."""
    entry = journal.of(status.host.name)
    if status.facts is not None:
        return replace(status, lost=entry.lost)
    is_ours = status.busy_with is not None and entry.holder is not None
    known = replace(status, lost=entry.lost, facts=entry.facts, beat_s=entry.asked_s)
    return replace(known, work=entry.work) if is_ours else known


def host_states(
    transport: Transport,
    hosts: Sequence[FleetHost],
    holders: Mapping[str, str],
    limit_s: float = ASK_LIMIT_S,
) -> list[HostStatus]:
    """The state of each of these hosts; `holders` has the driver at work on each busy one."""
    free = {host.name: transport for host in hosts if host.name not in holders}
    answers = ask_all(free, limit_s)
    statuses = []
    for host in hosts:
        answer = answers.get(host.name)
        if answer is None:
            statuses.append(HostStatus(host, "busy", busy_with=holders[host.name]))
        elif isinstance(answer, HostFacts):
            statuses.append(HostStatus(host, "free", beat_s=time.time(), facts=answer))
        else:
            problem, hint = error_text(answer), error_hint(answer)
            statuses.append(HostStatus(host, "silent", problem=problem, hint=hint))
    return statuses


@dataclass(frozen=True)
class HostDiagnosis:
    """One backend on one host, or a host that does not answer."""

    host: str
    backend: Backend | None
    reason: str
    remedy: str | None


def diagnose_fleet(
    choice: FleetHosts, backends: Sequence[Backend]
) -> tuple[Mapping[str, Sequence[Backend]], Sequence[HostDiagnosis]]:
    """Ask each host what it is: which of these backends it can measure, and what it lacks."""
    runs, lacks = dict[str, Sequence[Backend]](), list[HostDiagnosis]()
    with open_fleet(choice) as fleet:
        for name, answer in ask_all(fleet).items():
            if not isinstance(answer, HostFacts):
                lacks.append(HostDiagnosis(name, None, error_text(answer), error_hint(answer)))
                continue
            runs[name] = [one for one in backends if one not in answer.unavailable]
            lacks += [
                HostDiagnosis(name, one, reason, answer.remedies.get(one))
                for one in backends
                if (reason := answer.unavailable.get(one))
            ]
    return runs, lacks
