"""An accepted step in words: what was recorded or taken back, and what follows from it."""

from collections.abc import Iterator
from dataclasses import asdict

from orchestrator.commands.regress.known_steps import Acceptance
from orchestrator.screen.lines import print_json, print_line
from orchestrator.system.text import plural

_SHOWN = 3
"""Cells that are named."""


def print_acceptance(acceptance: Acceptance, *, as_json: bool) -> None:
    """Print what was accepted of a run, or taken back."""
    if as_json:
        print_json(asdict(acceptance))
        return
    for line in acceptance_lines(acceptance):
        print_line(line)


def acceptance_lines(acceptance: Acceptance) -> Iterator[str]:
    """The sentences that tell of it."""
    count = len(acceptance.cell_ids)
    cells = f"{count:,} {plural(count, 'cell')} of {acceptance.run_id}"
    named = ", ".join(acceptance.cell_ids[:_SHOWN])
    more = f" and {count - _SHOWN:,} more" if count > _SHOWN else ""
    if acceptance.because is None:
        yield f"taken back: {cells}: {named}{more}"
        yield "`regress` judges them by what they were before again."
        return
    yield f"accepted: {cells}: {named}{more}"
    yield f"because: {acceptance.because}"
    if acceptance.updated:
        replaced = len(acceptance.updated)
        yield f"{replaced:,} of them {'was' if replaced == 1 else 'were'} accepted before."
    yield (
        "`regress` judges results by the level that begins with this run; `orchestrator query"
        f" accepted_changes` lists such runs, `regress --withdraw {acceptance.run_id}` takes it"
        " back."
    )
