"""A plan as a table, as JSON or as GitHub's matrix."""

import json
from collections import Counter
from collections.abc import Sequence

from orchestrator.planning.estimate import export_estimate
from orchestrator.planning.plan import Plan
from orchestrator.planning.schedule import JobPlan, planned_jobs
from orchestrator.render.lines import print_line
from orchestrator.render.tables import print_table
from orchestrator.running.graphs import Kind
from orchestrator.system.text import format_duration, plural


def print_plan(plan: Plan, *, as_json: bool, exports: Sequence[Kind] = ()) -> None:
    """Every cell with its decision, reason and estimate, then the sums.

    `exports` are the graphs that a run would export first.
    """
    if as_json:
        print_line(json.dumps(plan_data(plan, exports), indent=2))
        return
    rows = [
        (
            entry.cell.id,
            entry.decision,
            format_duration(round(entry.estimate_s)) if entry.decision == "run" else None,
            entry.reason or entry.status or "",
        )
        for entry in plan.entries
    ]
    print_table(("cell", "decision", "estimate", "reason"), rows)
    counts = Counter(entry.decision for entry in plan.entries)
    jobs = planned_jobs(plan)
    exporting = sum(export_estimate(plan.models[model]) for model, _, _ in exports)
    total = format_duration(round(exporting + sum(job.estimate_s for job in jobs)))
    print_line()
    for note in plan.notes:
        print_line(f"note: {note}")
    if exports:
        seconds = format_duration(round(exporting))
        count = f"{len(exports)} graph{' is' if len(exports) == 1 else 's are'}"
        print_line(f"note: {count} exported first, in about {seconds}, and kept for later runs")
    print_line(
        f"{counts['run']} to run in {_launched(jobs)}, "
        f"{counts['skip']} to skip, {counts['done']} done; about {total}"
    )


def _launched(jobs: Sequence[JobPlan]) -> str:
    launches = sum(job.measure.rounds for job in jobs)
    often = f" ({launches:,} launches)" if launches > len(jobs) else ""
    return f"{len(jobs):,} {plural(len(jobs), 'job')}{often}"


def plan_data(plan: Plan, exports: Sequence[Kind] = ()) -> dict[str, object]:
    """The plan as plain data, with the graphs that a run would export first."""
    cells = [
        {
            "cell_id": entry.cell.id,
            "job_id": entry.cell.job_id,
            **entry.cell.model_dump(),
            "decision": entry.decision,
            "status": entry.status,
            "reason": entry.reason,
            "estimate_s": entry.estimate_s,
        }
        for entry in plan.entries
    ]
    graphs = [
        {
            "model": model,
            "content": content,
            "numbers": numbers,
            "estimate_s": export_estimate(plan.models[model]),
        }
        for model, content, numbers in exports
    ]
    return {"cells": cells, "exports": graphs, "notes": list(plan.notes)}
