"""What maintenance did, or would do."""

import json
from dataclasses import asdict

from orchestrator.maintain import Maintained
from orchestrator.render.tables import print_line, print_table
from orchestrator.store.health.compaction import Compaction
from orchestrator.store.health.tidy import Tidied
from orchestrator.units import format_size

COLUMNS = ("run", "started", "verdicts", "on disk")


def print_maintained(done: Maintained, *, dropped: bool, as_json: bool) -> None:
    """The runs that went or would go, what was compacted, what was left, the database's size."""
    if as_json:
        print_line(json.dumps({"dropped": dropped, **asdict(done)}, indent=2, default=str))
        return
    if done.doomed:
        _print_doomed(done, dropped=dropped)
    for run in done.compact:
        print_line(f"{run.run_id}: {_compacted(run.compaction)}")
    for left in done.left:
        print_line(f"{left.run_id}: left alone: {left.reason}")
    if done.tidied is None:
        print_line("nothing was changed: a dry run")
    else:
        print_line(_tidied(done.tidied))


def _print_doomed(done: Maintained, *, dropped: bool) -> None:
    rows = [
        (
            run.run_id,
            f"{run.started_at:%Y-%m-%d %H:%M}",
            run.verdicts,
            format_size(run.size_bytes) if run.path else None,
        )
        for run in done.doomed
    ]
    print_table(COLUMNS, rows)
    print_line()
    runs = f"{len(rows)} runs" if len(rows) > 1 else "1 run"
    print_line(f"{runs} dropped" if dropped else f"{runs} to drop; `--yes` does it")


def _compacted(compaction: Compaction) -> str:
    before = f"{compaction.files} record files of {format_size(compaction.bytes_before)}"
    if compaction.bytes_after is None:
        return f"{before} would become one"
    return f"{before} are now {format_size(compaction.bytes_after)}"


def _tidied(tidied: Tidied) -> str:
    how = ", written anew" if tidied.rewritten else ""
    before, after = format_size(tidied.bytes_before), format_size(tidied.bytes_after)
    return f"database: {before} before, now {after}{how}"
