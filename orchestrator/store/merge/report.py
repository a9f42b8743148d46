"""The result of a merge."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Self

from orchestrator.store.records.validate import Damaged
from orchestrator.system.text import plural
from runner.contract.errors import StoreError

_NAMED = 5


@dataclass(frozen=True)
class MissingVerdicts:
    """Planned cells of one run of which the database has no verdict after a merge."""

    run_id: str
    planned: int
    cells: tuple[str, ...]
    """The ids of those without a verdict."""


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
    """Files that were left out, whole or in part; they stay where they are."""
    refused: tuple[str, ...] = ()
    """Result ids of fake and synthetic rows, left out because this is no scratch database."""
    quarantined: int = 0
    """Records left out because `database check --fix` took them out before."""
    contradicted: tuple[str, ...] = ()
    """Result ids of measurements that files from elsewhere have newer ones of: they stay, and count
    as unchanged."""
    missing: tuple[MissingVerdicts, ...] = ()
    """Merged runs that lack verdicts of planned cells."""
    hosts: tuple[tuple[str, int], ...] = field(default=(), compare=False)
    """Records that were taken, by the name of the host that measured them; of others' files
    without one by their source. A name may be there several times."""

    def __add__(self, other: Self) -> Self:
        names = [column.name for column in fields(self)]
        pairs = ((getattr(self, name), getattr(other, name)) for name in names)
        return type(self)(*(mine + theirs for mine, theirs in pairs))

    @property
    def is_empty(self) -> bool:
        return not (self.inserted or self.replaced or self.unchanged)

    @property
    def is_complete(self) -> bool:
        """True if everything was merged, and runs have a verdict for each planned cell."""
        return not (self.refused or self.damaged or self.contradicted or self.missing)

    @property
    def faults(self) -> str:
        return "; ".join(message for message, _ in self._faults())

    def require_complete(self) -> None:
        if not self.is_complete:
            hints = [hint for _, hint in self._faults()]
            if self.refused or self.damaged or self.contradicted:
                hints += ["nothing was merged" if self.is_empty else "all others were merged"]
            raise StoreError(self.faults, hint="; ".join(hints))

    def _faults(self) -> Iterator[tuple[str, str]]:
        if count := len(self.refused):
            yield (
                f"refused {count} {plural(count, 'row')} that no device made:"
                f" {_some(self.refused)}",
                "fake and synthetic rows belong in a scratch database, which `--scratch` makes",
            )
        if whole := [file for file in self.damaged if file.records is None]:
            files = f"{len(whole)} damaged file{'s were' if len(whole) > 1 else ' was'}"
            yield (
                f"{files} left out: {_some(_reasons(whole))}",
                "remove what is damaged and measure again with `orchestrator run --resume RUN_ID`",
            )
        if partly := [file for file in self.damaged if file.records is not None]:
            count = sum(file.records or 0 for file in partly)
            records = f"{count:,} record{'s were' if count > 1 else ' was'}"
            yield (
                f"{records} left out, since no measurement can give {'them' if count > 1 else 'it'}"
                f": {_some(_reasons(partly))}",
                "ask whoever recorded them, or measure those cells again",
            )
        if count := len(self.contradicted):
            yield (
                f"{count} {plural(count, 'result')} stayed as measured, though these files have"
                f" newer ones: {_some(self.contradicted)}",
                "to believe them, drop the run with `orchestrator database drop` and merge again",
            )
        for run in self.missing:
            count = len(run.cells)
            yield (
                f"run {run.run_id}: {count} of {run.planned} planned cells"
                f" {'have' if count > 1 else 'has'} no verdict: {_some(run.cells)}",
                f"`orchestrator run --resume {run.run_id}` measures what is missing",
            )


def _reasons(files: Sequence[Damaged]) -> list[str]:
    return [f"{file.path}: {file.reason}" for file in files]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
