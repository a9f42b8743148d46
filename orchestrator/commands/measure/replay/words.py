"""A result and its repetition, side by side."""

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.compare.circumstances import DIRTY
from analysis.results.metrics import METRICS
from analysis.results.row import seeks_peak
from analysis.results.series import SCOPE
from analysis.results.table import wrapping
from analysis.statistics.ratios import PROMISES, Estimate
from orchestrator.commands.measure.replay.answer import Replay
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.tables import print_lines

_ENDS = {"latency": ("95 % low", "95 % high"), "peak_qps": ("at least", "at most")}
"""Metrics whose intervals are shown, with the words of their ends."""
_FACTS = (
    ("status", "status"),
    ("grade", "grade"),
    ("proof", "proof"),
    ("correct", "correct"),
    ("host", "hostname"),
    ("launcher", "launcher"),
    ("image", "image_digest"),
    ("runner", "runner_version"),
    ("commit", "git_commit"),
)
_HASH_LENGTH = 19


def print_replay(replay: Replay, *, as_json: bool) -> None:
    """Print both results, their differences, and a verdict on their medians."""
    if as_json:
        print_json(replay.data())
        return
    then, now = replay.then.data(), replay.now.data()
    print_line(f"{replay.then.cell_id}")
    print_line(f"then: {replay.then.result_id}")
    print_line(f"now:  {replay.now.result_id}")
    print_line()
    rows = [
        (heading, then[name], now[name], _ratio(name, then, now))
        for heading, name in _numbers()
        if then[name] is not None or now[name] is not None
    ]
    print_lines((*wrapping("metric"), "then", "now", "ratio"), rows)
    print_line()
    facts = [(title, _short(then[name]), _short(now[name])) for title, name in _FACTS]
    print_lines(("fact", *wrapping("then", "now")), facts)
    print_line()
    for line in _sentences(replay):
        print_line(line)


def _numbers() -> Iterator[tuple[str, str]]:
    """The heading and the column of each number, an interval's ends behind its middle."""
    for name, metric in METRICS.items():
        heading = metric.brief or (metric.report if metric.is_of_energy else None)
        if heading is None:
            continue
        yield heading, metric.column
        ends = zip(_ENDS.get(name, ()), (metric.low, metric.high), strict=False)
        yield from ((f"{heading}, {words}", column) for words, column in ends if column)


def _sentences(replay: Replay) -> Iterator[str]:
    if replay.now.status != "ok":
        yield f"now {replay.now.status}: {replay.now.reason}"
    for difference in replay.differences:
        yield f"note: {difference}"
    if (then := replay.then.batch_size) != (now := replay.now.batch_size):
        yield f"note: offline found another batch: {then}, now {now}"
    if "D" in {replay.then.grade, replay.now.grade}:
        yield "note: grade D says not to quote such a number"
    elif replay.grade and replay.intervals_overlap is False and not replay.shows_difference:
        least = f"{PROMISES[replay.grade] * 100:.0f} %"
        yield f"note: grade {replay.grade} shows differences beyond {least} alone"
    yield _verdict(replay)


def _verdict(replay: Replay) -> str:
    numbers, intervals = _compared(replay)
    ratio = replay.ratio_interval
    if ratio is None:
        return f"There are no two {numbers} with {intervals} to compare."
    if not replay.shows_difference and replay.intervals_overlap:
        return f"The {intervals} of the two {numbers} overlap: no difference is shown."
    if not replay.shows_difference:
        return (
            f"The two {numbers} differ by less than their grades can show: no difference is shown."
        )
    if seeks_peak(replay.now):
        return _change_of_peak(ratio)
    subject = "a sample" if replay.now.scenario == "offline" else "it"
    return (
        f"They differ by more than fresh processes do: now {subject} takes"
        f" {_share(ratio.value)} % {'more' if ratio.value > 1 else 'less'} time,"
        f" {ratio.low:.2f} to {ratio.high:.2f} times as much."
    )


def _compared(replay: Replay) -> tuple[str, str]:
    """The numbers that are compared, and what tells how far they can be trusted."""
    if seeks_peak(replay.now):
        return "peaks", "brackets"
    if replay.now.scenario == "offline":
        return "times of a sample", "95 % intervals"
    return "medians", "95 % intervals"


def _change_of_peak(time: Estimate) -> str:
    rate = Estimate(1 / time.value, 1 / time.high, 1 / time.low)
    return (
        f"They differ by more than their brackets leave open: now the peak is"
        f" {_share(rate.value)} % {'higher' if rate.value > 1 else 'lower'},"
        f" {rate.low:.2f} to {rate.high:.2f} times as high."
    )


def _share(ratio: float) -> str:
    return f"{abs(ratio - 1) * 100:.1f}"


def _ratio(name: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> float | None:
    """The ratio of a number; None if it is not known, or joules hold something else now."""
    before, after = then[name], now[name]
    if name.endswith("joules") and then[SCOPE] != now[SCOPE]:
        return None
    return after / before if before and after is not None else None


def _short(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = str(value)
    if len(text) <= 2 * _HASH_LENGTH:
        return text
    return text[:_HASH_LENGTH] + (DIRTY if text.endswith(DIRTY) else "")
