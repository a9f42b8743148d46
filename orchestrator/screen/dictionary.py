"""Explanations of the words on the screen."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.contract.errors import UsageError, suggest


@dataclass(frozen=True)
class Word:
    """A word with its meaning, how to read it, and where it stands or leads."""

    name: str
    lines: tuple[str, ...]
    others: Sequence[str] = ()


WORDS_FILE = Path(__file__).with_name("words.toml")
WORDS: Sequence[Word] = [
    Word(name, tuple(entry["lines"].splitlines()), entry.get("also", ()))
    for name, entry in tomllib.loads(WORDS_FILE.read_text("utf-8")).items()
]
_NUMBER = re.compile(r"([bs])[0-9]+")
_EXAMPLES = {"b": "b8", "s": "s128"}


def find_word(text: str) -> Word:
    """The word of that name, in whatever case and number.

    Raises:
        UsageError: there is none.
    """
    known = {other.casefold(): word for word in WORDS for other in word.others}
    known |= {word.name.casefold(): word for word in WORDS}
    wanted = " ".join(text.casefold().replace("_", " ").split())
    if match := _NUMBER.fullmatch(wanted):
        wanted = _EXAMPLES[match[1]]
    for name in (wanted, wanted.removesuffix("s"), wanted.removesuffix("%").strip()):
        if name in known:
            return known[name]
    raise UsageError(
        f"no word {text!r} is explained{suggest(wanted, known)}",
        hint="`orchestrator explain` lists the words",
    )
