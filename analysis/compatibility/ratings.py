"""Ratings: how well models work on backends, from High to N/A, with what stands in the way."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from analysis.compatibility.verdicts import BEST_FIRST, MEANINGS, Evidence, Key, KnownVerdict, Rate

Level = Literal["High", "Medium", "Low", "N/A", "verified only", "not tried", "not measured"]
HIGH_SHARE = 0.5
"""Least share of the best backend's throughput for the same cell that is High."""
MEDIUM_SHARE = 0.1
"""Least share that is Medium; less is Low."""
_USELESS = ("wrong", "contradicted", "unproven")
"""Verdicts on results that tell nothing about the backend, however fast they were."""
_CHECKED = ("ok", "verified only")
_SAYS_NOTHING = ("unavailable", "lost")
"""Verdicts that are about the machine, and say nothing about model and backend."""


@dataclass(frozen=True)
class Obstacle:
    """A verdict that stands in the way."""

    verdict: str
    reason: str | None
    remedy: str | None


@dataclass(frozen=True)
class Rating:
    """The level of one model on one backend in one mode, with what it rests on."""

    model: str
    family: str | None
    mode: str
    backend: str
    level: Level
    share: float | None
    """Median of its throughput by that of the best backend, over the cells that another was timed
    in."""
    share_low: float | None
    share_high: float | None
    cells: int
    compared: int
    """Those of them that another backend was timed in too."""
    doubtful: int
    """Those of all of them whose number is of grade D."""
    fastest: tuple[str | None, str | None] | None
    """Runtime and precision that were the fastest in most cells; None if nothing was timed."""
    obstacle: Obstacle | None
    """The reason why it is Low, N/A or not tried, unless that is the share alone."""
    source: str | None
    """The project that measured what it rests on, where that was not this one."""


def rate(evidence: Sequence[Evidence]) -> tuple[Rating, ...]:
    backends = {findings.backend for one in evidence for findings in one.findings}
    backends |= {timed.backend for one in evidence for timed in one.rates}
    return tuple(_rating(one, backend) for one in evidence for backend in sorted(backends))


def _rating(known: Evidence, backend: str) -> Rating:
    counting = [one for one in known.rates if one.counts]
    best: dict[Key, float] = defaultdict(float)
    timed_by: dict[Key, set[str]] = defaultdict(set)
    for one in counting:
        best[one.cell] = max(best[one.cell], one.samples_per_s)
        timed_by[one.cell].add(one.backend)
    timed = [one for one in known.rates if one.backend == backend]
    own = [one for one in timed if one.counts] or timed
    shares = [one.samples_per_s / best[one.cell] for one in own if timed_by[one.cell] - {backend}]
    findings = [one for one in known.findings if one.backend == backend]
    paths = Counter((one.runtime, one.precision) for one in own)
    obstacle = _obstacle(own, findings, best)
    share = median(shares) if shares else None
    if own and obstacle is None:
        level = level_of(share)
    elif obstacle is not None and obstacle.verdict in _SAYS_NOTHING:
        level = "not tried"
    elif obstacle is not None:
        works = obstacle.verdict == "partial" or (own and obstacle.verdict not in _USELESS)
        level = "Low" if works else "N/A"
    else:
        level = "verified only" if findings else "not measured"
    return Rating(
        model=known.model,
        family=known.family,
        mode=known.mode,
        backend=backend,
        level=level,
        share=share,
        share_low=min(shares, default=None),
        share_high=max(shares, default=None),
        cells=len(own),
        compared=len(shares),
        doubtful=sum(one.grade == "D" for one in own),
        fastest=max(paths, key=lambda path: (paths[path], str(path)), default=None),
        obstacle=obstacle,
        source=next((one.source for one in own if not one.is_ours), None),
    )


def level_of(share: float | None) -> Level:
    """The level by the share of the best throughput; without another backend it is the best."""
    if share is None or share >= HIGH_SHARE:
        return "High"
    return "Medium" if share >= MEDIUM_SHARE else "Low"


def _obstacle(
    own: Sequence[Rate], findings: Sequence[KnownVerdict], best: Mapping[Key, float]
) -> Obstacle | None:
    if not own:
        works = any(one.verdict in _CHECKED for one in findings)
        return None if works else _as_obstacle(findings)
    if not any(one.verdict == "ok" or not one.is_ours for one in own):
        verdicts = {one.verdict for one in own}
        return _as_obstacle([one for one in findings if one.verdict in verdicts])
    sound = {one.cell for one in own} | {one.cell for one in findings if one.verdict in _CHECKED}
    limits = [one for one in findings if one.cell in best and one.cell not in sound]
    return _as_obstacle([one for one in limits if one.verdict not in _SAYS_NOTHING])


def _as_obstacle(findings: Sequence[KnownVerdict]) -> Obstacle | None:
    if not findings:
        return None
    verdict = min((one.verdict for one in findings), key=BEST_FIRST.index)
    reasons: Counter[tuple[str | None, str | None]] = Counter()
    for one in findings:
        if one.verdict == verdict:
            reasons[one.reason, one.remedy] += one.results
    reason, remedy = max(reasons, key=lambda key: (reasons[key], str(key)))
    return Obstacle(verdict, reason or MEANINGS.get(verdict), remedy)
