"""The errors of AccelMatrix: each knows its exit code and what to do next."""

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Self

from runner.contract.reasons import Reason, reason

_LONGEST = 100  # letters of a word that are compared
_LISTED = 15  # known words that are listed beside a guess; a longer list would hide it
_CANDIDATES = 5  # likely words among which swapped letters are looked for


IN_CHECKOUT = (Path(__file__).parents[2] / "Makefile").is_file()
"""True if the packages lie in a checkout, whose Makefile installs."""
_BROWSER = "runner.backends.onnxruntime_web.install"
"""Fetches a browser and its runtime, which no wheel holds."""


class BenchError(Exception):
    """An error that a user can act on."""

    exit_code: ClassVar[int] = 70

    def __init__(self, message: str | Reason, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def reason(self) -> Reason:
        return reason_of(self)


class JobError(BenchError):
    """The job file cannot be read or is not valid."""

    exit_code = 2


class UnknownModel(BenchError):
    """A name that the catalogue does not hold."""

    exit_code = 2


class Unsupported(BenchError):
    """This combination cannot exist: the cell ends with status `unsupported`."""

    exit_code = 2


class Unavailable(BenchError):
    """It could exist, but not on this machine: the cell ends with status `unavailable`."""

    exit_code = 2


class TimedOut(BenchError):
    """No answer in time: status `timeout`, unless iterations had ended, as `ended_ns` says."""

    def __init__(self, reason: Reason, *, ended_ns: Sequence[int] = ()) -> None:
        super().__init__(reason)
        self.ended_ns = ended_ns


class RecordError(BenchError):
    """A record file is damaged, foreign or from another schema."""

    exit_code = 6


class RecordNotSaved(BenchError):
    """A record could not be written, e.g. because the disk is full."""

    exit_code = 6


class UsageError(BenchError):
    """An option, a name, a path or a question is wrong; the message names value and remedy."""

    exit_code = 2

    @classmethod
    def unknown(
        cls, word: str, known: Iterable[str], message: str, *, hint: str | None = None
    ) -> Self:
        """The refusal of a word that is none of the known ones, ended by the closest of them."""
        return cls(message + suggest(word, known), hint=hint)


class MatrixError(UsageError):
    """A matrix, or a file it names, is wrong; the message names file, path, value and remedy."""


class NothingToDo(BenchError):
    """The plan holds no cell that could run."""

    exit_code = 3


class EngineUnavailable(BenchError):
    """No container engine answers, or it went away."""

    exit_code = 4


class ImageError(BenchError):
    """An image is missing, or could not be built, pulled or pushed."""

    exit_code = 5


class StoreError(BenchError):
    """The database or the results folder cannot be read or written, or has another schema."""

    exit_code = 6


class Inconclusive(BenchError):
    """Numbers do not suffice for an answer: their grade is worse than the one required."""

    exit_code = 8


class DamagedFile(StoreError):
    """A file whose content cannot be used, with each reason."""

    def __init__(self, *reasons: str, hint: str | None = None) -> None:
        super().__init__("; ".join(reasons), hint=hint)
        self.reasons = reasons


class SkipEntry(BenchError):
    """One entry of a file cannot be used, with each reason; the others can."""

    def __init__(self, *reasons: str, key: str | None = None) -> None:
        super().__init__("; ".join(reasons))
        self.key = key
        """The entry's key that is at fault; None if it is the entry as a whole."""
        self.reasons = reasons
        """Empty for an entry that holds nothing to use and says nothing wrong."""


def reason_of(error: BaseException) -> Reason:
    """The reason of a cell that this error ends; of foreign errors type and text."""
    cause = error.args[0] if error.args else None
    if isinstance(cause, Reason):
        return cause
    if isinstance(error, BenchError):
        return reason("said", text=error, hint=error.hint)
    return reason("raised", kind=type(error).__name__, text=error)


def refuse_unknown(word: object, known: Sequence[str], otherwise: str = "") -> str:
    """The sentence that refuses a word: the closest known one first, the list of them last."""
    if near := closest(word, known):
        return f"{word!r} is unknown; {_guess(near[0], known, otherwise)}"
    return f"{word!r} is not one of {', '.join(known)}{otherwise}"


def refuse_key(key: object, known: Sequence[str]) -> str:
    """The same for a key."""
    if near := closest(key, known):
        return f"unknown key; {_guess(near[0], known)}"
    return f"unknown key; allowed are {', '.join(known)}"


def _guess(near: str, known: Sequence[str], otherwise: str = "") -> str:
    """The closest word, and all of them where they are not many."""
    listed = f" ({', '.join(known)}{otherwise})" if len(known) <= _LISTED else ""
    return f"did you mean {near}?{listed}"


def suggest(word: object, known: Iterable[str]) -> str:
    """`; did you mean fp16?`, or nothing if no known word is like this one."""
    return "".join(f"; did you mean {match}?" for match in closest(word, known))


def closest(word: object, known: Iterable[str], count: int = 1) -> list[str]:
    """The known words most like this one, if any are; the same letters swapped come first."""
    text = str(word)[:_LONGEST]
    matches = difflib.get_close_matches(text, list(known), n=max(count, _CANDIDATES))
    return sorted(matches, key=lambda match: sorted(match) != sorted(text))[:count]


def how_to_install(extra: str, *, in_checkout: bool = IN_CHECKOUT) -> str:
    """The command that installs an extra here, as hints write it."""
    if in_checkout:
        return f"`make {'install' if extra == 'analysis' else extra}`"
    command = f"`pip install 'accelmatrix[{extra}]'`"
    return f"{command}, then `python -m {_BROWSER}`" if extra == "browser" else command
