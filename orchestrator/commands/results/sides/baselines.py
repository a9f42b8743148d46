"""`last` as a baseline: the runs before another side that share a series with it."""

from collections.abc import Sequence

from analysis.results.selection import Selection, Side
from analysis.results.sides import runs_before
from analysis.results.source import ArrowSource
from orchestrator.store.query.results import RunSummary, newest_run
from runner.contract.errors import NothingToDo, UsageError


def run_back(runs: Sequence[RunSummary], back: int) -> str:
    """The id of the newest run, or of the one that is so many runs before it."""
    left = list(runs)
    newest = newest_run(left)
    for _ in range(back):
        if newest is not None:
            left.remove(newest)
            newest = newest_run(left)
    if newest is not None:
        return newest.run_id
    if not runs:
        raise UsageError(
            "'last' is no run: the database holds none yet",
            hint="measure some: `orchestrator bench --model bert-tiny --backend available`",
        )
    raise UsageError(
        f"last~{back}: the database holds {_count(len(runs))}", hint=_oldest(len(runs))
    )


def run_before(
    source: ArrowSource, selection: Selection, side: Side, back: int, *, per_host: bool
) -> str:
    """The id of the newest run before a side that shares a series with it, or of an older one.

    Args:
        source: the database whose runs are looked at.
        selection: the results in it that count; those of every run.
        side: the side whose series are looked for.
        back: the number of such runs to go back from the newest of them.
        per_host: True if machines with different names have series of their own.
    """
    runs = runs_before(source, selection, side, per_host=per_host)
    if not runs:
        raise NothingToDo(
            f"no run before {side.label} shares a series with it",
            hint="measure the same cells again, `orchestrator run`, or name a baseline: a series is"
            " of one cell with the same weights on the same hardware",
        )
    if back >= len(runs):
        raise UsageError(
            f"last~{back}: {_count(len(runs))} before {side.label} share a series with it",
            hint=_oldest(len(runs)),
        )
    return runs[back]


def _count(runs: int) -> str:
    return "1 run" if runs == 1 else f"{runs:,} runs"


def _oldest(runs: int) -> str:
    return "`last` is the only one" if runs == 1 else f"the oldest of them is `last~{runs - 1}`"
