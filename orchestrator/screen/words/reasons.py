"""Words of reasons and of errors, with what helps against them."""

from collections.abc import Iterator, Mapping
from functools import partial

from orchestrator.screen.words.failures import OF_FAILURES
from orchestrator.screen.words.lacks import OF_LACKS
from orchestrator.screen.words.refusals import OF_REFUSALS
from orchestrator.screen.words.remedies import OF_STATUS
from orchestrator.screen.words.templates import ReasonWords, Special, fill
from runner.contract.errors import BenchError, reason_of
from runner.contract.reasons import Reason, ReasonCode

REASONS: Mapping[ReasonCode, ReasonWords] = {**OF_REFUSALS, **OF_LACKS, **OF_FAILURES}
"""The words of each code."""


def reason_text(reason: Reason) -> str:
    """The reason in words; one that this version does not know, by its code and facts."""
    words = REASONS.get(reason.code)
    return str(reason) if words is None else fill(words.text, reason.facts, behind(reason))


def behind(reason: Reason) -> Special:
    """Formats of facts that are reasons: a single one, or `name1`, `name2`… joined."""

    def single(name: str) -> str:
        cause = reason.behind(name)
        return reason_text(cause) if cause else "?"

    def several(separator: str, name: str) -> str:
        return separator.join(map(reason_text, _numbered(reason, name)))

    return {
        "reason": single,
        "lines": partial(several, "\n"),
        "semicolons": partial(several, "; "),
    }


def _numbered(reason: Reason, name: str) -> Iterator[Reason]:
    number = 1
    while cause := reason.behind(f"{name}{number}"):
        yield cause
        number += 1


def remedy_text(status: str, reason: Reason | None) -> str | None:
    """The remedy of a verdict, a sentence; None if nothing is to be done.

    Args:
        status: a status, or a verdict on what ended well.
        reason: the reason of the status, or of what is known about `correct`.
    """
    if status not in OF_STATUS:
        return None
    return (reason and _own_remedy(reason)) or OF_STATUS[status]


def _own_remedy(reason: Reason) -> str | None:
    """The remedy of the cause, which knows more, or of the reason."""
    words = REASONS.get(reason.code)
    if words is None:
        return None
    causes = (reason.behind("cause"), *_numbered(reason, "cause"), *_numbered(reason, "attempt"))
    remedies = (_own_remedy(cause) for cause in causes if cause)
    remedy = next(filter(None, remedies), words.remedy)
    return remedy and fill(remedy, reason.facts)


def error_text(error: BaseException) -> str:
    """The message of an error of ours; type and message of others."""
    return reason_text(reason_of(error))


def error_hint(error: BenchError) -> str | None:
    """The hint of an error: its own, or that of its reason."""
    words = REASONS.get(error.reason.code)
    hint = error.hint or (words and words.hint)
    return hint and fill(hint, error.reason.facts)
