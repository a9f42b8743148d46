"""Questions to many hosts at once: what each of them is."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Timer

from orchestrator.fleet.host import HostFacts
from orchestrator.fleet.messages import (
    Beat,
    FactsWanted,
    Known,
    Refused,
    frame_of,
    message_to_driver,
)
from orchestrator.fleet.transport import Transport
from runner.contract.errors import BenchError, DamagedFile, Unavailable

PATIENCE_S = 60.0
"""Seconds in which a host tells what it is: imports, and a look at devices and images."""
_AT_ONCE = 32


def ask_all(
    hosts: Mapping[str, Transport], question: FactsWanted, patience_s: float = PATIENCE_S
) -> dict[str, HostFacts | BenchError]:
    """The facts of each host, or the reason why it does not tell them."""
    names: Sequence[str] = list(hosts)
    with ThreadPoolExecutor(max(1, min(_AT_ONCE, len(names)))) as pool:
        answers = pool.map(lambda name: _ask(hosts[name], name, question, patience_s), names)
        return dict(zip(names, answers, strict=True))


def _ask(
    transport: Transport, host: str, question: FactsWanted, patience_s: float
) -> HostFacts | BenchError:
    try:
        return ask_facts(transport, host, question, patience_s)
    except BenchError as error:
        return error


def ask_facts(
    transport: Transport, host: str, question: FactsWanted, patience_s: float = PATIENCE_S
) -> HostFacts:
    """The facts of one host.

    Raises:
        Unavailable: it cannot be reached, does not answer in time, or refuses to.
    """
    conversation = transport.begin(host)
    limit = Timer(patience_s, conversation.end)
    limit.daemon = True
    limit.start()
    try:
        conversation.send(frame_of(question))
        while frame := conversation.receive():
            message = message_to_driver(frame)
            if isinstance(message, Known):
                return message.facts
            if isinstance(message, Refused):
                raise Unavailable(f"{host}: {message.reason}", hint=message.hint)
            if not isinstance(message, Beat):
                raise Unavailable(f"{host}: an answer to another question: {message.kind}")
    except DamagedFile as error:
        raise Unavailable(f"{host}: {error}", hint=_HINT) from error
    finally:
        limit.cancel()
        conversation.end()
    raise Unavailable(f"{host}: no answer", hint=_HINT)


_HINT = "`orchestrator fleet doctor` looks at each host"
