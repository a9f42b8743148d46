"""What somebody may have meant by a word that nobody knows."""

import difflib
from collections.abc import Iterable


def nearest(word: object, known: Iterable[str]) -> str | None:
    """The known word that is most like this one, if any is."""
    return next(iter(difflib.get_close_matches(str(word)[:100], list(known), n=1)), None)


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """`; did you mean 'fp16'?`, or nothing where no known word is near."""
    near = nearest(word, known)
    return "" if near is None else f"; did you mean {near!r}?"
