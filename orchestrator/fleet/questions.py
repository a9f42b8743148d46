"""Questions to hosts: what each one is, asked of many at once and with a time limit."""

import time
from collections.abc import Iterable, Mapping

from orchestrator.fleet.farewell import end_later
from orchestrator.fleet.host import HostFacts
from orchestrator.fleet.messages import FactsWanted, Known, Refused, frame_of, message_to_driver
from orchestrator.fleet.transport import Conversation, Transport
from orchestrator.screen.words.reasons import error_hint, error_text
from orchestrator.system.threads import ThreadedWork, WorkThread
from runner.contract.errors import BenchError, DamagedFile, Unavailable

ASK_LIMIT_S = 60.0
"""Seconds for a host to start its program and to look at itself."""

FactsAnswer = HostFacts | Unavailable
"""The facts about a host, or the reason why there are none."""


_MEASURES = FactsWanted()


def ask_facts(
    transport: Transport,
    host: str,
    limit_s: float = ASK_LIMIT_S,
    question: FactsWanted = _MEASURES,
) -> HostFacts:
    """The facts about a host, as it tells them.

    Raises:
        Unavailable: it cannot be reached, does not answer in time, or refuses; names it.
    """
    answer = ask_all(transport, [host], limit_s, question)[host]
    if isinstance(answer, Unavailable):
        raise answer
    return answer


def ask_all(
    transport: Transport,
    hosts: Iterable[str],
    limit_s: float = ASK_LIMIT_S,
    question: FactsWanted = _MEASURES,
) -> Mapping[str, FactsAnswer]:
    """The answer of each host; all are asked at once."""
    questions = {host: _Question(transport, host, question) for host in hosts}
    deadline = time.monotonic() + limit_s
    return {host: question.answer(deadline, limit_s) for host, question in questions.items()}


class _Question:
    """One host's conversation about its facts, in a thread of its own."""

    def __init__(self, transport: Transport, host: str, question: FactsWanted) -> None:
        self._transport, self._host, self._wanted = transport, host, question
        self._conversation: Conversation | None = None
        self._given_up = False
        thread = WorkThread()
        self._work: ThreadedWork[HostFacts] = thread.submit(self._ask)
        thread.abandon()

    def answer(self, deadline: float, limit_s: float) -> FactsAnswer:
        """The host's answer, or the reason why there is none before the deadline."""
        try:
            return self._work.result(max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            self._give_up()
            return Unavailable(f"host {self._host}: did not answer within {limit_s:.0f} s")
        except Unavailable as error:
            return error
        except BenchError as error:
            return Unavailable(f"host {self._host}: {error_text(error)}", hint=error_hint(error))

    def _give_up(self) -> None:
        """End the conversation, also one that is still to begin."""
        self._given_up = True
        if self._conversation is not None:
            end_later(self._conversation)

    def _ask(self) -> HostFacts:
        conversation = self._transport.begin(self._host)
        self._conversation = conversation
        try:
            if not self._given_up:
                conversation.send(frame_of(self._wanted))
            return self._facts(conversation)
        finally:
            conversation.end()

    def _facts(self, conversation: Conversation) -> HostFacts:
        while not self._given_up and (frame := conversation.receive()) is not None:
            message = message_to_driver(frame)
            if isinstance(message, Known):
                return message.facts
            if isinstance(message, Refused):
                raise Unavailable(f"host {self._host}: {message.reason}", hint=message.hint)
        raise DamagedFile("its program ended without an answer", hint=_PROGRAM_HINT)


_PROGRAM_HINT = "`orchestrator fleet execute` must start there: is orchestrator installed?"
