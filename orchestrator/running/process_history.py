"""The spread of fresh processes as this host's own results tell it, where nobody calibrated it.

They are those of runs whose folders lie here. So no stranger's record can make the intervals of
this machine's own records narrower.
"""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from math import sqrt
from pathlib import Path
from socket import gethostname
from statistics import fmean, stdev

from orchestrator.running.calibration import Spreads, read_spreads
from orchestrator.running.run_file import run_folders
from orchestrator.store.store import LaunchedTogether, Store
from runner.contract.confidence import upper_deviation
from runner.contract.errors import StoreError
from runner.contract.job import ProcessSpread


def known_spreads(results: Path, database: Path, host: str | None) -> Spreads:
    """The calibrated spreads of this machine, and those that its own results tell beside them."""
    return {**learnt_spreads(results, database, host), **read_spreads(results, host)}


def learnt_spreads(results: Path, database: Path, host: str | None) -> Spreads:
    """The spreads that launches of the same cells tell, of quiet results of runs in this folder."""
    if host is None or not database.is_file():
        return {}
    try:
        with Store.open_readonly(database, wait_s=0) as store:
            groups = store.launches(host, gethostname())
    except StoreError:
        return {}  # whoever needs the database says so
    own = {path.name for path in run_folders(results)}
    evidence: dict[str, Evidence] = defaultdict(Evidence)
    for group in groups:
        told = _of_rounds(group, own) if group.rounds > 1 else _of_results(group, own)
        if told is not None:
            key = f"{group.backend}/{group.runtime}/{group.hardware_id}"
            evidence[key].add(*told, group.recorded_at[-1])
    spreads = ((key, one.spread) for key, one in evidence.items())
    return {key: spread for key, spread in spreads if spread is not None}


_ENOUGH = 200
"""Launches of which the newest are taken."""
_APART_S = 120.0
"""Seconds after which two processes of a cell are independent: nearer ones are alike."""


@dataclass
class Evidence:
    """Variances between launches of cells, pooled by their degrees of freedom."""

    squares: float = 0.0
    degrees: float = 0.0
    launches: int = 0
    pairs: int = 0
    measured_at: datetime | None = None

    def add(self, variance: float, degrees: float, launches: int, moment: datetime) -> None:
        if self.launches >= _ENOUGH:
            return
        self.squares += degrees * variance
        self.degrees += degrees
        self.launches += launches
        self.pairs += launches - 1
        self.measured_at = self.measured_at or moment

    @property
    def spread(self) -> ProcessSpread | None:
        """The upper bound of the spread, so that few pairs that agree by chance promise nothing."""
        if not self.measured_at:
            return None
        return ProcessSpread(
            cv=sqrt(self.squares / self.degrees) * upper_deviation(self.degrees),
            processes=min(self.launches, 1000),
            degrees=min(self.degrees, 1000),
            measured_at=self.measured_at,
            pairs=self.pairs,
        )


def far_apart(cv: float, rounds: int, effective: float) -> float:
    """The deviation of processes far apart in time, by that of rounds, which are alike if near.

    The sample's variance has a share of 1 - ρ of the variance of one on average.
    """
    return cv / sqrt(effective * rounds / (rounds + (rounds - 1) * effective))


def _of_rounds(group: LaunchedTogether, own: Collection[str]) -> tuple[float, float, int] | None:
    """Variance, its degrees of freedom and the launches of a result of ours that has several."""
    if group.run_ids[0] not in own or not group.between_cv or not group.effective_rounds:
        return None
    cv = far_apart(group.between_cv, group.rounds, group.effective_rounds)
    return cv**2, max(1.0, group.round_degrees or 0.0), group.rounds


def _of_results(group: LaunchedTogether, own: Collection[str]) -> tuple[float, float, int] | None:
    """The same of our results of one launch each, of those that are far apart in time."""
    medians: list[float] = []
    last: datetime | None = None
    results = zip(group.run_ids, group.recorded_at, group.medians_s, strict=True)
    for run_id, moment, median in results:
        is_far = last is None or (moment - last).total_seconds() >= _APART_S
        if run_id in own and is_far:
            last = moment
            medians.append(median)
    if len(medians) < 2:
        return None
    return (stdev(medians) / fmean(medians)) ** 2, len(medians) - 1, len(medians)
