"""Globs that select cells by their ids."""

import re
from collections.abc import Iterable
from fnmatch import translate
from typing import get_args

from runner.contract.axes import Backend, Mode
from runner.contract.cell import Cell
from runner.contract.errors import UsageError


class Selector:
    """Keeps the cells that one of the words or globs selects, and drops those that a `!…` does.

    A glob is fnmatch's and fits the whole id; a word without `*`, `?` and `[` selects the ids that
    hold it, and a whole id itself alone. All know upper from lower case. Without one that keeps,
    every cell is kept unless one drops it.
    """

    def __init__(self, globs: Iterable[str] = ()) -> None:
        self.globs = tuple(globs)
        if any(not glob.removeprefix("!") for glob in self.globs):
            raise UsageError(
                "--select: a glob must not be empty",
                hint="write for example --select 'cpu-*-fp32-*', or --select bert-tiny",
            )
        self.kept = tuple(_as_glob(glob) for glob in self.globs if not glob.startswith("!"))
        """Globs of which one must fit the whole id, if there are any."""
        self.dropped = tuple(_as_glob(glob[1:]) for glob in self.globs if glob.startswith("!"))
        """Globs of which none may fit it."""
        self._keep, self._drop = _any_of(self.kept), _any_of(self.dropped)

    def keeps(self, cell: Cell) -> bool:
        return not self.globs or self.keeps_id(cell.id)

    def keeps_id(self, cell_id: str) -> bool:
        kept = self._keep is None or self._keep.match(cell_id) is not None
        return kept and (self._drop is None or self._drop.match(cell_id) is None)


_GLOB = re.compile(r"[*?[]")
_WHOLE_ID = re.compile(
    rf"({'|'.join(get_args(Backend))})-.+-({'|'.join(get_args(Mode))})(-offline|-pure|-server-[^-]+.*)?"
)
"""A word of this form is an id and no part of one, though another id may begin with it."""


def _any_of(globs: Iterable[str]) -> re.Pattern[str] | None:
    patterns = [translate(glob) for glob in globs]
    return re.compile("|".join(patterns)) if patterns else None


def _as_glob(word: str) -> str:
    return word if _GLOB.search(word) or _WHOLE_ID.fullmatch(word) else f"*{word}*"
