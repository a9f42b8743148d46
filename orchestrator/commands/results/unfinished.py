"""Runs that are not finished: those that measure now, and those that were interrupted."""

import shlex
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.store.query.runs import RunSummary
from orchestrator.system.files import RESULTS_FOLDER
from orchestrator.system.text import plural
from runner.contract.errors import DamagedFile


@dataclass(frozen=True)
class UnfinishedRun:
    """A run of this results folder with cells that have no verdict yet."""

    run_id: str
    planned: int
    left: int
    measuring: bool
    """True if it measures now."""
    command: str
    """The command that measures what is left."""

    @property
    def sentence(self) -> str:
        cells = f"{self.left:,} of {self.planned:,} {plural(self.planned, 'cell')}"
        if self.measuring:
            return f"run {self.run_id} measures now: {cells} are left"
        before = ""
        if self.left == self.planned:
            cells = f"all {self.left:,} {plural(self.left, 'cell')}"
            before = " before its first cell"
        return f"run {self.run_id} was interrupted{before}: {cells} are left; to finish it:"


def unfinished_runs(
    results: Path, runs: Sequence[RunSummary], only: Container[str] | None = None
) -> Iterator[UnfinishedRun]:
    """Such runs, the newest first; of `runs` the database tells how many verdicts they have."""
    known = {run.run_id: sum(run.counts.values()) for run in runs}
    finished = {run.run_id for run in runs if known[run.run_id] >= (run.planned or 0)}
    for path in sorted((file.parent for file in results.glob("[!.]*/run.json")), reverse=True):
        if path.name in finished or (only is not None and path.name not in only):
            continue
        from orchestrator.running.run_file import RUN_FILE, read_run_file  # these load slowly
        from orchestrator.system.locks import holds_devices
        from runner.contract.rounds import RECORD_SUFFIX

        with suppress(DamagedFile, OSError):
            run = read_run_file(path / RUN_FILE)
            planned, records = len(run.plan.entries), path.glob(f"records/*/*{RECORD_SUFFIX}")
            left = planned - known.get(run.run_id, len({record.name for record in records}))
            words = ["orchestrator", "run", "--resume", run.run_id]
            if run.host_class:
                words = [*words[:3], run.group_id or run.run_id, "--fleet"]
            where = [] if results == RESULTS_FOLDER else ["--results", str(results)]
            measuring = holds_devices(f"run {run.run_id}")
            if left > 0:
                command = shlex.join([*words, *where])
                yield UnfinishedRun(run.run_id, planned, left, measuring, command)
