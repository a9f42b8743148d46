"""Ratios of results: estimates with 95 % intervals, and what intervals and grades let them show."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, get_args

from analysis.statistics.numbers import (
    change_text,
    format_number,
    interval_texts,
    number_range,
    percent_text,
)
from runner.contract.record.verdict import Grade

PROMISES: Mapping[Grade, float] = {"A": 0.0, "B": 0.05, "C": 0.20}
"""The least difference that numbers of a grade can show; those of grade D show none."""
DIFFERENCE_FACTOR = 1.6
"""Distance of a ratio's logarithm from 0, by that to the end of its 95 % interval, beyond which it
shows a difference: Student's t of 99 % by that of 95 % for medians of five or six processes. Of two
results of the same software at most one pair in a hundred is said to differ then, and not one in
twenty (`performance rounds`)."""
RatioOutcomeKind: TypeAlias = Literal["better", "worse", "equal", "undecided"]
THRESHOLD = 0.05
"""The least relative change that matters, unless somebody says otherwise."""
_MANY_LAUNCHES = 10
"""Launches of the longest profile, from which on more of them narrow an interval little."""
_WHY = "`orchestrator status {run} --why` tells why"
_UNDECIDED: Mapping[str, tuple[str, str]] = {
    "unquotable": ("must not be quoted", _WHY),
    "imported": ("measured by others", "nobody here proved it: measure it here"),
    "grade_d": ("grade D", _WHY),
    "grade_c": (f"within the {percent_text(PROMISES['C'])} % of grade C", _WHY),
    "grade_b": (f"within the {percent_text(PROMISES['B'])} % of grade B", _WHY),
    "no_interval": (
        "no interval",
        "times take 6 iterations or several launches; of memory, load time, energy and first"
        " queries a record holds one value, so compare several runs",
    ),
    "one_process": (
        "one process",
        "`--profile standard` takes several, `orchestrator doctor --calibrate` measures what"
        " processes of this host differ by",
    ),
    "few_launches": ("few launches", "`--profile audit` takes 10 or more"),
    "wide_interval": ("a wide interval", "measure longer, or on a quieter machine"),
    "few_rounds": (
        "rounds disagree",
        "more rounds side by side, of which `--profile standard` takes up to 12 and `audit` up to"
        " 30, or a quieter machine",
    ),
    "predicted": ("predicted", "measure it"),
    "extrapolated": ("extrapolated", "measure it"),
}
"""Reasons by their codes: in words, with what would decide."""


@dataclass(frozen=True)
class Estimate:
    """A positive value with its 95 % interval."""

    value: float
    low: float
    high: float

    def over(self, other: "Estimate") -> "Estimate":
        """The ratio of this to an independent estimate, with its interval.

        MOVER, the method of variance estimates recovery, on logarithms: with distances
        d = ln value - ln low and e = ln high - ln value of each estimate, the ratio's logarithm
        lies from ln r - sqrt(d1² + e2²) to ln r + sqrt(e1² + d2²). Zou & Donner, "Construction of
        confidence limits about effect measures: a general approach", Statistics in Medicine 27
        (2008), 1693-1702. It keeps intervals that are not symmetric and takes nothing for normal.
        """
        ratio = self.value / other.value
        down = math.hypot(math.log(self.value / self.low), math.log(other.high / other.value))
        up = math.hypot(math.log(self.high / self.value), math.log(other.value / other.low))
        return Estimate(ratio, ratio * math.exp(-down), ratio * math.exp(up))

    @property
    def inverse(self) -> "Estimate":
        return Estimate(1 / self.value, 1 / self.high, 1 / self.low)


def estimate(value: float | None, low: float | None, high: float | None) -> Estimate | None:
    """The estimate of a measured value; None where it has no interval or is not positive."""
    if value is None or low is None or high is None or not 0 < low <= value <= high < math.inf:
        return None
    return Estimate(value, low, high)


def interval_text(interval: Estimate | None) -> str | None:
    """The ends of an interval as a column has them: `1.2–3.4`."""
    if interval is None:
        return None
    return f"{format_number(interval.low)}–{format_number(interval.high)}"


def extent_words(ratio: Estimate) -> str:
    """The size of a change whatever its direction: `12 % (9.1 to 15 %)`."""
    sign = 1 if ratio.value >= 1 else -1
    value, *ends = (sign * (number - 1) for number in (ratio.value, ratio.low, ratio.high))
    text, low, high = interval_texts(value, *sorted(ends))
    return f"{text} % ({low} to {high} %)"


def change_words(ratio: Estimate) -> str:
    """A change with its direction: `+12 % (9.1 to 15 %)`, `-8 % (-10 to -6 %)`."""
    return change_text(ratio.value, ratio.low, ratio.high)


def interval_percent(ratio: Estimate) -> str:
    """The ends of a change's 95 % interval as a column has them: `9.1 to 15`, `-2 to 8`."""
    _, low, high = interval_texts(*(number - 1 for number in (ratio.value, ratio.low, ratio.high)))
    return f"{low} to {high}"


class Judged(Protocol):
    """A quantity: its words for worse and better, and the least change of it that matters."""

    @property
    def comparatives(self) -> tuple[str, str]: ...
    @property
    def threshold(self) -> float: ...


@dataclass(frozen=True)
class RatioOutcome:
    """The outcome that a ratio of two results shows."""

    kind: RatioOutcomeKind
    because: str | None = None
    """The code of the reason why it is undecided."""
    rounds: int | None = None
    """Rounds in which both were measured side by side; None if they were not."""

    @property
    def is_shown(self) -> bool:
        """True if the two differ beyond what intervals and grades leave open."""
        return self.kind in ("better", "worse")

    @property
    def reason(self) -> str | None:
        return undecided_reason(self.because)

    def word(self, quantity: Judged) -> str:
        """It as tables and JSON name it: `faster`, `slower`, `equal` or `undecided`."""
        worse, better = quantity.comparatives
        return {"worse": worse, "better": better}.get(self.kind, self.kind)

    def words(self, quantity: Judged) -> str:
        """It in a sentence: `faster, side by side in 6 rounds`, `undecided (grade D)`."""
        words = self.word(quantity) + (f" ({self.reason})" if self.because else "")
        if self.kind == "equal":
            words = equal_words(quantity.threshold)
        return words + side_by_side_words([self])


def ratio_outcome(
    times: Estimate | None,
    grade: Grade,
    threshold: float = THRESHOLD,
    *,
    launches: Iterable[int | None] = (),
    refusal: str | None = None,
) -> RatioOutcome:
    """The outcome of how many times as good a result is, by the worse grade of both.

    They are equal if the whole interval lies within the threshold, and the grade promises to show a
    difference as small. One is better if the interval's nearer end is so far from 1 that chance
    goes there in one of a hundred cases, by more than the grade leaves open. `launches` are those
    of both results; `refusal` is the code of what forbids to compare them at all.
    """
    promise = PROMISES.get(grade)
    if refusal or promise is None or times is None:
        return RatioOutcome(
            "undecided", refusal or ("grade_d" if promise is None else "no_interval")
        )
    if is_within(times, threshold):
        return _unless(promise > threshold, grade, "equal")
    nearer_end = times.low if times.value > 1 else times.high
    margin = abs(math.log(times.value / nearer_end))
    if abs(math.log(times.value)) > DIFFERENCE_FACTOR * margin:
        is_small = max(times.value, 1 / times.value) <= 1 + promise
        return _unless(is_small, grade, "better" if times.value > 1 else "worse")
    fewest = min((count for count in launches if count), default=_MANY_LAUNCHES)
    few = "one_process" if fewest == 1 else "few_launches"
    return RatioOutcome("undecided", "wide_interval" if fewest >= _MANY_LAUNCHES else few)


def _unless(is_open: bool, grade: Grade, kind: RatioOutcomeKind) -> RatioOutcome:
    return RatioOutcome("undecided", f"grade_{grade.lower()}") if is_open else RatioOutcome(kind)


def side_by_side_words(outcomes: Iterable[RatioOutcome | None]) -> str:
    """The number of those that rounds side by side show, to stand behind them all.

    For example `, 2 of 3 side by side in 3 to 6 rounds`; empty if there is none.
    """
    known = [one for one in outcomes if one]
    rounds = [float(one.rounds) for one in known if one.rounds]
    if not rounds:
        return ""
    some = "" if len(rounds) == len(known) else f"{len(rounds):,} of {len(known):,} "
    return f", {some}side by side in {number_range(rounds)} rounds"


def outcome_facts(outcome: RatioOutcome | None, quantity: Judged) -> dict[str, str | int | None]:
    """The fields of JSON that tell an outcome; null for a baseline."""
    return {
        "outcome": outcome.word(quantity) if outcome else None,
        "undecided_because": outcome.because if outcome else None,
        "side_by_side_rounds": outcome.rounds if outcome else None,
    }


def undecided_reason(code: str | None) -> str | None:
    return _UNDECIDED[code][0] if code else None


def is_within(times: Estimate, threshold: float) -> bool:
    return 1 / (1 + threshold) < times.low and times.high < 1 + threshold


def equal_words(threshold: float) -> str:
    return f"equal within {percent_text(threshold)} %"


def counted_words(compared: Iterable[tuple[RatioOutcome | None, float]], quantity: Judged) -> str:
    """The number of each outcome, with the ratios that differ; baselines are left out.

    For example `faster in 2 of 4 (1.2 to 1.9 times), undecided in 2 (grade D)`.
    """
    known = [(outcome, times) for outcome, times in compared if outcome]
    parts: list[str] = []
    for kind in get_args(RatioOutcomeKind):
        ratios = [times for outcome, times in known if outcome.kind == kind]
        if not ratios:
            continue
        detail = f" ({number_range(ratios)} times)" if kind in ("better", "worse") else ""
        if kind == "undecided":
            detail = f" ({reason_counts(outcome for outcome, _ in known)})"
        total = "" if parts else f" of {len(known):,}"
        name = RatioOutcome(kind).words(quantity)
        parts.append(f"{name} in {len(ratios):,}{total}{detail}")
    return ", ".join(parts) + side_by_side_words(outcome for outcome, _ in known)


def reason_counts(outcomes: Iterable[RatioOutcome | None]) -> str:
    """The reasons of undecided ones, counted where there are several: `grade D: 3, imported: 1`."""
    counts = Counter(one.reason for one in outcomes if one and one.reason)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{reason}: {count:,}" for reason, count in counts.most_common())


def deciding_lines(outcomes: Iterable[RatioOutcome | None], run: str) -> Iterator[str]:
    """Sentences that name what would decide the undecided ones, one for each remedy."""
    by_remedy: dict[str, list[RatioOutcome]] = {}
    for one in outcomes:
        if one and one.because:
            by_remedy.setdefault(_UNDECIDED[one.because][1], []).append(one)
    for remedy, ones in by_remedy.items():
        yield f"Undecided ({reason_counts(ones)}): {remedy.format(run=run)}."
