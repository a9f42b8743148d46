"""What a merge did."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

from orchestrator.errors import StoreError

NAMED = 5


@dataclass(frozen=True)
class Damaged:
    """A file that could not be merged."""

    path: Path
    reason: str


@dataclass(frozen=True)
class MergeReport:
    """What a merge did, record by record."""

    inserted: int = 0
    """Verdicts that the database did not have."""
    replaced: int = 0
    """Verdicts of which a newer record came."""
    unchanged: int = 0
    """Records that changed nothing: the database has them, or newer ones of the same cells."""
    damaged: tuple[Damaged, ...] = ()
    """Files that were left out; they stay where they are."""
    refused: tuple[str, ...] = ()
    """Result ids of fake and synthetic rows, left out because this is no scratch database."""
    quarantined: int = 0
    """Records left out because `validate --fix` took them out before."""

    def __add__(self, other: Self) -> Self:
        """Both merges as one."""
        pairs = ((getattr(self, each.name), getattr(other, each.name)) for each in fields(self))
        return type(self)(*(mine + theirs for mine, theirs in pairs))

    def require_complete(self) -> None:
        """Insist that everything was merged.

        Raises:
            StoreError: it names the rows that were refused, or else the files that are damaged.
        """
        if self.refused:
            raise StoreError(
                f"refused {len(self.refused)} rows that no device made: {_some(self.refused)}",
                hint="fake and synthetic rows belong in a scratch database, which `--scratch`"
                " makes; all other rows were merged",
            )
        if self.damaged:
            files = tuple(f"{file.path}: {file.reason}" for file in self.damaged)
            raise StoreError(
                f"{len(files)} damaged record files were left out: {_some(files)}",
                hint="all others were merged; remove the damaged ones and measure again with"
                " `orchestrator run --resume`",
            )


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
