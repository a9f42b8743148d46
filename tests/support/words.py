"""The words that people read of what tests get: of errors, verdicts and doubts."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

from orchestrator.screen.words.doubts import doubt_text
from orchestrator.screen.words.reasons import error_text, reason_text
from runner.contract.reasons import Reason, reason_from

_Error = TypeVar("_Error", bound=BaseException)


@contextmanager
def raises_words(kind: type[_Error], match: str) -> Iterator[pytest.ExceptionInfo[_Error]]:
    """Insist on an error of this kind whose words the pattern occurs in."""
    with pytest.raises(kind) as raised:
        yield raised
    words = error_text(raised.value)
    assert re.search(match, words), words


def words_of(reason: Reason | None) -> str | None:
    """The words of a reason, if there is one."""
    return None if reason is None else reason_text(reason)


def reason_words(columns: Mapping[str, Any], name: str = "reason") -> str | None:
    """The reason in columns of a record; `correct` for that of its outputs."""
    return words_of(reason_from(columns.get(f"{name}_code"), columns.get(f"{name}_facts")))


def doubt_words(columns: Mapping[str, Any]) -> list[str]:
    """The doubts in columns of a record."""
    return [doubt_text(doubt) for doubt in columns["doubts"] or ()]
