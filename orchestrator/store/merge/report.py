"""The result of a merge."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Self

from orchestrator.store.records.validate import Damaged
from orchestrator.system.text import plural
from runner.contract.errors import StoreError

_NAMED = 5


@dataclass(frozen=True)
class MergeReport:
    """Counts of a merge, and what it left out."""

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
        pairs = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return type(self)(*(mine + theirs for mine, theirs in pairs))

    @property
    def is_empty(self) -> bool:
        """True if no record was sound and admitted."""
        return not (self.inserted or self.replaced or self.unchanged)

    def require_complete(self) -> None:
        """Insist that everything was merged.

        Raises:
            StoreError: it names the rows that were refused and the files that are damaged.
        """
        left_out = [*self._refused(), *self._damaged()]
        if left_out:
            others = "nothing was merged" if self.is_empty else "all others were merged"
            hints = [hint for _, hint in left_out]
            messages = "; ".join(message for message, _ in left_out)
            raise StoreError(messages, hint="; ".join([*hints, others]))

    def _refused(self) -> Iterator[tuple[str, str]]:
        if self.refused:
            rows = f"{len(self.refused)} {plural(len(self.refused), 'row')}"
            yield (
                f"refused {rows} that no device made: {_some(self.refused)}",
                "fake and synthetic rows belong in a scratch database, which `--scratch` makes",
            )

    def _damaged(self) -> Iterator[tuple[str, str]]:
        if self.damaged:
            several = len(self.damaged) > 1
            files = f"{len(self.damaged)} damaged record file{'s were' if several else ' was'}"
            reasons = [f"{file.path}: {file.reason}" for file in self.damaged]
            yield (
                f"{files} left out: {_some(reasons)}",
                "remove what is damaged and measure again with `orchestrator run --resume`",
            )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
