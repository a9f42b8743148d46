"""Trials of verdicts: a copy of the checkout is measured and judged against the baseline."""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from analysis.regress.judgements import THRESHOLD
from orchestrator.commands.measure.interleave import INTERLEAVED_THRESHOLD
from orchestrator.commands.regress.answer import RegressionRequest, judge_regressions
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.images import ImageSettings
from orchestrator.store import query
from performance.slowdowns.baseline import Baseline
from performance.slowdowns.copies import bench
from runner.contract.files import write_atomic

_TRIAL_DATABASE = "trial.duckdb"


class TrialFailed(Exception):
    """A trial was not measured, or another machine measured it than the baseline."""


@dataclass(frozen=True)
class Variant:
    """What a trial measures."""

    way: str
    """`plain` or `interleaved`."""
    share: float
    """The share by which it was made slower; 0 for a clean rebuild."""
    number: int
    """The trials of a way and a share are counted from 1."""

    @property
    def copy(self) -> str:
        """The name of its copy: every clean rebuild has one, all of the same share have one."""
        return f"slower-{self.share:.0%}".rstrip("%") if self.share else f"rebuilt-{self.number}"


@dataclass(frozen=True)
class Trial:
    """One comparison of a copy with the baseline."""

    variant: Variant
    cell_id: str
    verdict: str
    change: str
    """The ratio with its interval, in words."""
    launches: int
    seconds: float

    @property
    def is_missed(self) -> bool:
        """True if a slowdown was not found, or a clean rebuild was accused."""
        return (self.verdict == "regression") != (self.variant.share > 0)

    def __str__(self) -> str:
        share = self.variant.share
        what = f"{share:.0%} slower" if share else "rebuilt"
        return (
            f"{self.variant.way:11} {what:11} {self.verdict:14} {self.change:24}"
            f" {self.launches:2} launches {self.seconds:5.0f} s"
        )


@dataclass(frozen=True)
class Ledger:
    """The file of the trials that were measured, of one version of the runner."""

    path: Path

    def read(self) -> list[Trial]:
        """All trials so far.

        Raises:
            TrialFailed: they are of another version of the runner.
        """
        if not self.path.exists():
            return []
        document = json.loads(self.path.read_text("utf-8"))
        if document["runner"] != _fingerprint():
            raise TrialFailed(f"{self.path}: of another version of the runner: take a new folder")
        return [
            Trial(**{**trial, "variant": Variant(**trial["variant"])})
            for trial in document["trials"]
        ]

    def write(self, trials: Sequence[Trial]) -> None:
        """Keep these trials."""
        document = {"runner": _fingerprint(), "trials": [asdict(trial) for trial in trials]}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(self.path, json.dumps(document, indent=1))


def compare(copy: Path, baseline: Baseline, variant: Variant, words: Sequence[str]) -> Trial:
    """Measure the cell in this copy and judge it, beside a database that knows no other trial.

    Raises:
        TrialFailed: it was not measured, or on another machine.
    """
    began = time.monotonic()
    database = baseline.folder / _TRIAL_DATABASE
    baseline.write_database(database)
    command = [*baseline.words, "--compare-to", baseline.run_id, *words]
    code = bench(copy, baseline.folder, command, database)
    rows = query(
        database,
        "SELECT run_id, interleaved_with, rounds FROM benchmark_results WHERE status = 'ok'"
        f" AND run_id > '{baseline.run_id}' ORDER BY run_id DESC LIMIT 1",
    ).to_pylist()
    if not rows:
        raise TrialFailed(f"{copy.name}: `bench` ended with {code} and measured nothing")
    (newest,) = rows
    request = RegressionRequest(
        SelectionRequest(database),
        newest["interleaved_with"] or baseline.run_id,
        newest["run_id"],
        threshold=INTERLEAVED_THRESHOLD if newest["interleaved_with"] else THRESHOLD,
    )
    (judgement,) = judge_regressions(request).judgements.judgements
    if judgement.verdict == "not comparable":
        raise TrialFailed(f"{copy.name}: {judgement.reason}: take a new folder")
    ratio = judgement.ratio
    change = f"{ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f})" if ratio else "unknown"
    seconds = time.monotonic() - began
    return Trial(variant, baseline.cell_id, judgement.verdict, change, newest["rounds"], seconds)


def _fingerprint() -> str:
    """The version of the runner and of its image."""
    source = ImageSettings.from_environment().source("cpu")
    assert source is not None
    return source.fingerprint()
