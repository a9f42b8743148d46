"""The hosts that are there: asked what they are, and again later if they were lost or busy."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread

from orchestrator.fleet.host import HostFacts
from orchestrator.fleet.messages import FactsWanted, Known, Refused, frame_of, message_to_driver
from orchestrator.fleet.transport import Conversation, Transport, end_later
from orchestrator.screen.words.reasons import error_hint, error_text
from runner.contract.errors import BenchError, DamagedFile, Unavailable

ASK_LIMIT_S = 60.0
"""Seconds for a host to start its program and to look at itself."""

FactsAnswer = HostFacts | Unavailable
"""The facts about a host, or the reason why there are none."""


_MEASURES = FactsWanted()
_PROGRAM_HINT = "`orchestrator fleet execute` must start there: is orchestrator installed?"
ASK_AGAIN_S = 60.0
"""Seconds after which a host that was lost is asked whether it is there."""
BUSY_REST_S = 10.0
"""Seconds after which a host that another driver had is tried again."""


def ask_facts(transport: Transport, host: str, question: FactsWanted = _MEASURES) -> HostFacts:
    answer = ask_all({host: transport}, question=question)[host]
    if isinstance(answer, Unavailable):
        raise answer
    return answer


def ask_all(
    ways: Mapping[str, Transport], limit_s: float = ASK_LIMIT_S, question: FactsWanted = _MEASURES
) -> dict[str, FactsAnswer]:
    """The answer of each of these hosts; all are asked at once."""
    questions = {host: _Question(way, host, question) for host, way in ways.items()}
    deadline = time.monotonic() + limit_s
    return {host: question.answer(deadline, limit_s) for host, question in questions.items()}


class _Question:
    """One host's conversation about its facts, in a thread of its own."""

    def __init__(self, transport: Transport, host: str, question: FactsWanted) -> None:
        self._transport, self._host, self._wanted = transport, host, question
        self._conversation: Conversation | None = None
        self._given_up = False
        self._facts: Future[HostFacts] = Future()
        # Python waits at its end for the threads of a pool, and a host may never answer.
        Thread(target=self._run, daemon=True, name=f"fleet, question to {host}").start()

    def answer(self, deadline: float, limit_s: float) -> FactsAnswer:
        """The host's answer, or the reason why there is none before the deadline."""
        try:
            return self._facts.result(max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            self._given_up = True
            if self._conversation is not None:
                end_later(self._conversation)
            return Unavailable(f"host {self._host}: did not answer within {limit_s:.0f} s")
        except Unavailable as error:
            return error
        except BenchError as error:
            return Unavailable(f"host {self._host}: {error_text(error)}", hint=error_hint(error))

    def _run(self) -> None:
        try:
            self._facts.set_result(self._ask())
        except BaseException as error:  # whatever it is, the one who waits raises it
            self._facts.set_exception(error)

    def _ask(self) -> HostFacts:
        conversation = self._transport.begin(self._host)
        self._conversation = conversation
        try:
            if not self._given_up:
                conversation.send(frame_of(self._wanted))
            return self._listen(conversation)
        finally:
            conversation.end()

    def _listen(self, conversation: Conversation) -> HostFacts:
        while not self._given_up and (frame := conversation.receive()) is not None:
            message = message_to_driver(frame)
            if isinstance(message, Known):
                return message.facts
            if isinstance(message, Refused):
                raise Unavailable(f"host {self._host}: {message.reason}", hint=message.hint)
        raise DamagedFile("its program ended without an answer", hint=_PROGRAM_HINT)


@dataclass(frozen=True)
class Reach:
    """A host that answered: the way to it, and what it is."""

    transport: Transport
    facts: HostFacts


Ask = Callable[[Transport, str], HostFacts]
"""Asks a host what it is; raises a `BenchError` if there is no answer."""


class Presence:
    """The hosts of a run's fleet at each moment."""

    def __init__(
        self,
        hosts: Mapping[str, Reach],
        busy: Mapping[str, Transport],
        ask: Ask,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Hosts that answered, and those that another driver has, which come when they are free."""
        self._hosts = dict(hosts)
        self._ask, self._clock = ask, clock
        self._ways = {name: host.transport for name, host in hosts.items()} | dict(busy)
        self._gone: dict[str, float] = {}
        """The moment from which each absent host may be asked again."""
        self._resting: dict[str, float] = {}
        self._asked: set[str] = set()
        self._answers: SimpleQueue[tuple[str, HostFacts | None]] = SimpleQueue()
        for name in busy:
            self._gone[name] = clock()

    def reach(self, host: str) -> Reach:
        return self._hosts[host]

    @property
    def alive(self) -> set[str]:
        """The hosts that are there, those that rest included."""
        return self._hosts.keys() - self._gone.keys()

    @property
    def free(self) -> set[str]:
        """The hosts that are there and that no other driver was seen to have."""
        now = self._clock()
        return {host for host in self.alive if self._resting.get(host, 0.0) <= now}

    def leave(self, host: str) -> None:
        self._gone[host] = self._clock() + ASK_AGAIN_S

    def rest(self, host: str) -> bool:
        """Another driver has the host for now; True if that is new."""
        is_new = host not in self._resting
        self._resting[host] = self._clock() + BUSY_REST_S
        return is_new

    def work(self, host: str) -> None:
        self._resting.pop(host, None)

    def returned(self) -> dict[str, Reach]:
        """The hosts that came again, or at last; those that are absent are asked meanwhile."""
        self._ask_absent()
        returned = {}
        try:
            while True:
                host, facts = self._answers.get_nowait()
                self._asked.discard(host)
                if facts is None:
                    self._gone[host] = self._clock() + ASK_AGAIN_S
                else:
                    del self._gone[host]
                    returned[host] = self._hosts[host] = Reach(self._ways[host], facts)
        except Empty:
            return returned

    def _ask_absent(self) -> None:
        now = self._clock()
        for host, since in self._gone.items():
            if since <= now and host not in self._asked:
                self._asked.add(host)
                name = f"fleet, question to {host}"
                Thread(target=self._answer, args=(host,), daemon=True, name=name).start()

    def _answer(self, host: str) -> None:
        try:
            facts = self._ask(self._ways[host], host)
        except Exception:  # a library of the transport may raise what it likes: it is not there
            self._answers.put((host, None))
        else:
            self._answers.put((host, facts))
