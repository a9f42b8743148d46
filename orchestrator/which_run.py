"""The run that somebody names."""

from collections.abc import Sequence
from pathlib import Path

from orchestrator.errors import MatrixError
from orchestrator.store import RunSummary, newest_run

LAST = "last"


def which_run(name: str, runs: Sequence[RunSummary], database: Path) -> str:
    """The id of the run named; `last` is the newest of ours. `runs` are sorted, newest first.

    Raises:
        MatrixError: the database holds no such run.
    """
    newest = newest_run(runs)
    if name == LAST and newest is not None:
        return newest.run_id
    known = [run.run_id for run in runs]
    if name in known:
        return name
    hint = f"the newest are {', '.join(known[:3])}" if known else "it holds none yet"
    raise MatrixError(f"{name!r} is not a run in {database}", hint=hint)
