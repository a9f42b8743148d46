"""The globs of `--select` that take the cells of one job and no other cell of the plan."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from fnmatch import translate

from orchestrator.planning.plan import Plan
from orchestrator.planning.schedule import JobPlan


class JobGlobs:
    """Finds short globs among the ids of a plan's cells."""

    def __init__(self, plan: Plan) -> None:
        # A plan that is itself a selection does not know all ids that a glob could take.
        self._ids = sorted(entry.cell.id for entry in plan.entries) if plan.whole else []

    def of(self, job: JobPlan) -> Sequence[str]:
        """One glob if it selects this job's cells and no other id of the matrix; else the ids."""
        own = sorted(cell.id for cell in job.cells)
        if own == [job.id]:
            return own
        mode = job.cells[0].mode
        stem = job.id.removesuffix(mode)
        neighbours = self._beginning_with(stem)
        for glob in (f"{stem}b*-{mode}", f"{stem}*{mode}*"):
            matches = re.compile(translate(glob)).match
            if [name for name in neighbours if matches(name)] == own:
                return [glob]
        return own

    def _beginning_with(self, stem: str) -> Sequence[str]:
        first = bisect_left(self._ids, stem)
        return self._ids[first : bisect_left(self._ids, stem + "\U0010ffff")]
