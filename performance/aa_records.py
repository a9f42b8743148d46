"""Records of the A/A study: their file, and the rates that they give.

The file holds a line of JSON for each record, written as the record ends, so that several sessions
add up. A session is one start of the study on one machine. Pairs are neighbours of one session:
between two of them machines may well differ. The level that intervals should hold is that of all
processes of the same session, without those that were slowed down.
"""

import os
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from pydantic import AwareDatetime, Field, ValidationError

from analysis.statistics.ratios import Estimate, shows_difference
from performance.rounds import MOST_APART, MOST_DIFFERENT
from performance.simulated import chance
from runner.contract.cell import Frozen

LEAST_COVERAGE = 0.90
LEAST_RECORDS = 6
"""Records of a session that know its level; that of fewer would follow each of them closely."""


class StudyRecord(Frozen):
    """A record of fresh processes, with the interval over their medians."""

    session: str
    """The id of the session; ids sort by time."""
    host: str
    """The id of the machine."""
    measured_at: AwareDatetime
    """The moment at which it ended, UTC."""
    seconds: float
    """The least seconds of iterations, of all processes together."""
    triple: int
    """The number of its triple in the session, from 0."""
    slowdown: float
    """The share by which its queries were slowed down; 0 for two records of a triple."""
    medians: tuple[float, ...] = Field(min_length=2)
    """The medians of its processes, seconds."""
    moments_s: tuple[float, ...] = Field(min_length=2)
    """The moments at which they were measured, Unix time."""
    low: float
    """The interval's low end, seconds."""
    value: float
    """Its middle: the record's median."""
    high: float
    """Its high end."""

    @property
    def estimate(self) -> Estimate:
        """The median with its interval."""
        return Estimate(self.value, self.low, self.high)

    def overlaps(self, other: "StudyRecord") -> bool:
        """True if the intervals share a point."""
        return self.low <= other.high and other.low <= self.high

    def differs(self, other: "StudyRecord") -> bool:
        """True if a comparison of results would say that they differ."""
        return shows_difference(other.estimate.over(self.estimate), "A")


class AaRates(Frozen):
    """How often records of the same cell fail to agree, and whether a change is found."""

    pairs: int
    sessions: int
    hosts: int
    apart: float
    """Share of pairs whose intervals do not overlap."""
    said_to_differ: float
    """Share of pairs of which a comparison would say that they differ."""
    judged: int
    """Records of sessions that are long enough to know their level."""
    coverage: float | None
    """Share of them whose interval holds that level; null without such a session."""
    processes: float
    """Mean number of a record's processes."""
    between_process_cv: float
    """Mean coefficient of variation of a record's processes."""
    slowed: int
    """Records that were slowed down, each compared with the one before it."""
    slowdown_found: float | None
    """Share of them that is said to differ; null without any."""

    @property
    def held(self) -> bool:
        """True if no bar is missed by more than chance does."""
        if self.apart > MOST_APART + chance(MOST_APART, self.pairs):
            return False
        if self.said_to_differ > MOST_DIFFERENT + chance(MOST_DIFFERENT, self.pairs):
            return False
        least = LEAST_COVERAGE - chance(LEAST_COVERAGE, max(1, self.judged))
        return self.coverage is None or self.coverage >= least


def append_record(path: Path, record: StudyRecord) -> None:
    """Write the record behind those that are there; it survives what follows."""
    with path.open("a+b") as file:
        file.seek(max(0, file.tell() - 1))
        torn = file.read(1) not in (b"", b"\n")
        file.write(b"\n" * torn + record.model_dump_json().encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def read_study(path: Path, seconds: float | None = None) -> list[StudyRecord]:
    """The records of the file, those with so many seconds if they are named.

    A line that a kill has torn is left out.
    """
    records = []
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            records.append(StudyRecord.model_validate_json(line))
        except ValidationError:
            continue
    return [record for record in records if seconds in (None, record.seconds)]


def pairs_of(records: Iterable[StudyRecord]) -> list[tuple[StudyRecord, StudyRecord]]:
    """Neighbours of the same cell: the two plain records of each triple that has both."""
    triples = _by_triple(record for record in records if not record.slowdown)
    return [(plain[0], plain[1]) for plain in triples if len(plain) > 1]


def rates_of(records: Sequence[StudyRecord]) -> AaRates | None:
    """The rates of all sessions together; None without a pair."""
    pairs = pairs_of(records)
    if not pairs:
        return None
    plain = [record for record in records if not record.slowdown]
    judged = [_holds_level(session) for session in _long_sessions(plain)]
    held = [verdict for session in judged for verdict in session]
    found = [
        one.differs(other)
        for triple in _by_triple(records)
        for one, other in pairwise(triple)
        if other.slowdown and not one.slowdown
    ]
    return AaRates(
        pairs=len(pairs),
        sessions=len({record.session for record in plain}),
        hosts=len({record.host for record in plain}),
        apart=_share(not a.overlaps(b) for a, b in pairs) or 0.0,
        said_to_differ=_share(a.differs(b) for a, b in pairs) or 0.0,
        judged=len(held),
        coverage=_share(held),
        processes=statistics.fmean(len(record.medians) for record in plain),
        between_process_cv=statistics.fmean(
            statistics.stdev(record.medians) / record.value for record in plain
        ),
        slowed=len(found),
        slowdown_found=_share(found),
    )


def _by_triple(records: Iterable[StudyRecord]) -> list[list[StudyRecord]]:
    """The records of each triple, in the order in which they were measured."""
    triples: dict[tuple[str, str, int], list[StudyRecord]] = defaultdict(list)
    for record in records:
        triples[record.host, record.session, record.triple].append(record)
    return list(triples.values())


def _long_sessions(plain: Iterable[StudyRecord]) -> list[list[StudyRecord]]:
    sessions: dict[tuple[str, str], list[StudyRecord]] = defaultdict(list)
    for record in plain:
        sessions[record.host, record.session].append(record)
    return [records for records in sessions.values() if len(records) >= LEAST_RECORDS]


def _holds_level(session: Sequence[StudyRecord]) -> list[bool]:
    level = statistics.fmean(median for record in session for median in record.medians)
    return [record.low <= level <= record.high for record in session]


def _share(verdicts: Iterable[bool]) -> float | None:
    counted = list(verdicts)
    return sum(counted) / len(counted) if counted else None
