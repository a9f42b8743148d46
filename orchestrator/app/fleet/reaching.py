"""The hosts of a fleet: found, asked what they are, and those refused that cannot measure."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from orchestrator.app.fleet.choice import FleetChoice
from orchestrator.fleet.asking import FactsAnswer, ask_all
from orchestrator.fleet.driving import Reach
from orchestrator.fleet.hosts_file import read_hosts_file
from orchestrator.fleet.journal import HostJournal
from orchestrator.fleet.membership import StateFolder, known_member, require_member, require_token
from orchestrator.fleet.messages import FactsWanted
from orchestrator.fleet.transport import FleetHost, Transport
from orchestrator.fleet.transports.commands import CommandTransport
from orchestrator.fleet.transports.ray import RayTransport
from orchestrator.running.options import RunOptions
from runner.contract.errors import BenchError, Unavailable, UsageError


@dataclass(frozen=True)
class Fleet:
    """The chosen hosts of a fleet."""

    hosts: Mapping[str, FleetHost]
    """By name, in the order in which transports list them."""
    transports: Mapping[str, Transport]
    """The way to each host, by the host's name."""


@contextmanager
def open_transports(choice: FleetChoice, *, exclusive: bool) -> Iterator[Sequence[Transport]]:
    """The ways to all hosts of a file and of a Ray cluster.

    Raises:
        UsageError: the hosts file is wrong.
        Unavailable: a Ray cluster is required and there is none, or it does not answer.
    """
    with ExitStack() as stack:
        transports = [*_of_file(choice.hosts_file), *_of_ray(choice, exclusive=exclusive)]
        for transport in transports:
            stack.callback(transport.close)
        yield transports


@contextmanager
def open_fleet(choice: FleetChoice, *, exclusive: bool = True) -> Iterator[Fleet]:
    """The hosts that a command chooses; `exclusive`: no other driver may use one meanwhile.

    Raises:
        UsageError: the hosts file is wrong, or a glob fits no host.
        Unavailable: there is no host.
    """
    with open_transports(choice, exclusive=exclusive) as transports:
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
            raise Unavailable("the fleet has no host", hint="`orchestrator fleet join` adds one")
        names = choice.chosen(list(ways))
        yield Fleet(
            {host.name: host for host, _ in reachable if host.name in names},
            {name: ways[name] for name in names},
        )


def _of_file(path: Path | None) -> Iterator[Transport]:
    """The transports of a hosts file."""
    entries = read_hosts_file(path) if path else ()
    kinds: tuple[Literal["ssh", "slurm"], ...] = ("ssh", "slurm")
    for kind in kinds:
        if of_kind := [entry for entry in entries if entry.transport == kind]:
            yield CommandTransport(kind, of_kind)


def _of_ray(choice: FleetChoice, *, exclusive: bool) -> Iterator[Transport]:
    """The cluster that is named, else the one that was made or joined here, if there is one.

    Raises:
        Unavailable: it is required and there is none, or it does not answer.
    """
    address, token_file = choice.address, choice.token_file
    if address is None:
        state = StateFolder.of_user(os.environ)
        member = require_member(state) if choice.needs_ray else known_member(state)
        if member is None:
            return
        address, token_file = member.address, token_file or Path(member.token_file)
    token = None if token_file is None else require_token(token_file)
    yield RayTransport(address, token, exclusive=exclusive)


def reach(fleet: Fleet, options: RunOptions, note: Callable[[str], None]) -> dict[str, Reach]:
    """Ask each host what it is; one that does not answer is noted and left out.

    Raises:
        Unavailable: none answers.
    """
    question = FactsWanted(launcher=options.launcher, purpose=options.purpose)
    reached, errors = dict[str, Reach](), list[BenchError]()
    answers: dict[str, FactsAnswer] = {}
    for transport in dict.fromkeys(fleet.transports.values()):
        names = [name for name, way in fleet.transports.items() if way is transport]
        answers |= ask_all(transport, names, question=question)
    for name, answer in answers.items():
        if isinstance(answer, BenchError):
            errors.append(answer)
            note(f"{answer}; it is left out")
        else:
            reached[name] = Reach(fleet.transports[name], answer)
    own_journal().keep_facts({name: host.facts for name, host in reached.items()})
    if not reached:
        raise Unavailable(f"no host of the fleet answers: {errors[0]}", hint=errors[0].hint)
    return reached


def own_journal() -> HostJournal:
    """The journal of this user's drivers."""
    with suppress(Unavailable):
        return HostJournal(StateFolder.of_user(os.environ).journal)
    return HostJournal()
