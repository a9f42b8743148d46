"""Questions to a cluster's head that may never be answered."""

from threading import Event

from orchestrator.fleet.transports.ray_nodes import HeadAnswers
from runner.contract.errors import Unavailable
from tests.support.words import raises_words


def test_a_head_that_does_not_answer_is_waited_for_once() -> None:
    answers, comes = Event(), HeadAnswers(limit_s=0.01)
    with raises_words(Unavailable, match="did not answer"):
        comes.within(lambda: answers.wait(60))
    with raises_words(Unavailable, match="has not answered"):
        comes.within(lambda: True)
    answers.set()
    patient = HeadAnswers(limit_s=10)
    assert patient.within(lambda: "here") == "here"
    patient.close()


def test_whatever_the_question_meets_names_the_head() -> None:
    head = HeadAnswers()

    def refuse() -> None:
        raise RuntimeError("the session is over")

    with raises_words(Unavailable, match="the head cannot be asked: the session is over"):
        head.within(refuse)
    head.close()
