"""Globs over cell ids."""

import re
from collections.abc import Iterable
from fnmatch import translate

from runner.contract.cell import Cell
from runner.contract.errors import UsageError


class Selector:
    """Keeps the cells whose id matches a glob, and drops those that match a `!glob`.

    Globs are fnmatch's, match the whole id and know upper from lower case. Without a glob that
    keeps, every cell is kept unless a `!glob` drops it; the order of globs means nothing.

    Raises:
        UsageError: a glob is empty.
    """

    def __init__(self, globs: Iterable[str] = ()) -> None:
        self.globs = tuple(globs)
        if any(not glob.removeprefix("!") for glob in self.globs):
            raise UsageError(
                "--select: a glob must not be empty",
                hint="write for example --select 'cpu-*-fp32-*'",
            )
        self._keep = _any_of(glob for glob in self.globs if not glob.startswith("!"))
        self._drop = _any_of(glob[1:] for glob in self.globs if glob.startswith("!"))

    def keeps(self, cell: Cell) -> bool:
        """True if the cell is kept."""
        return not self.globs or self.keeps_id(cell.id)

    def keeps_id(self, cell_id: str) -> bool:
        """True if a cell of that id is kept."""
        kept = self._keep is None or self._keep.match(cell_id) is not None
        return kept and (self._drop is None or self._drop.match(cell_id) is None)


def _any_of(globs: Iterable[str]) -> re.Pattern[str] | None:
    patterns = [translate(glob) for glob in globs]
    return re.compile("|".join(patterns)) if patterns else None
