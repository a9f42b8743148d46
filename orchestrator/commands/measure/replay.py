"""`replay`: one result measured again, and both side by side."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from analysis.compare.circumstances import DIRTY, circumstance_changes, circumstances_of
from analysis.results.metrics import METRICS
from analysis.results.row import item_estimate_ms, item_ms, seeks_peak
from analysis.results.series import SCOPE
from analysis.results.table import wrapping
from analysis.statistics.ratios import (
    THRESHOLD,
    Estimate,
    RatioOutcome,
    deciding_lines,
    equal_words,
    outcome_facts,
    ratio_outcome,
)
from orchestrator.launchers.registry import make_launcher
from orchestrator.running.execution import execute_run
from orchestrator.running.observer import Observer
from orchestrator.running.options import RunOptions
from orchestrator.running.outcome import RunOutcome
from orchestrator.running.replay import ReplayRequest, begin_replay, consented_original
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.tables import print_lines
from orchestrator.store.query.results import Measurement
from orchestrator.store.store import Store
from orchestrator.system.files import DATABASE_NAME

_INTERNAL = ("job", "model_spec")


@dataclass(frozen=True)
class Replay:
    """A result and its repetition."""

    then: Measurement
    now: Measurement
    changes: tuple[str, ...] = ()
    """Differences of their circumstances, as `torch 2.13.0, now 2.14.0`."""

    @property
    def ratio(self) -> float | None:
        """The time of an item now by the one then; None unless both were timed."""
        then, now = item_ms(self.then), item_ms(self.now)
        return now / then if then and now else None

    @property
    def ratio_interval(self) -> Estimate | None:
        """That ratio with its 95 % interval; None unless there are two."""
        then, now = item_estimate_ms(self.then), item_estimate_ms(self.now)
        return now.over(then) if then and now else None

    @property
    def outcome(self) -> RatioOutcome | None:
        """The outcome of that ratio; None unless both were timed."""
        if self.ratio is None:
            return None
        ratio, grades = self.ratio_interval, (self.then.grade or "D", self.now.grade or "D")
        launches = (self.then.rounds, self.now.rounds)
        return ratio_outcome(ratio and ratio.inverse, max(grades), launches=launches)

    @property
    def differences(self) -> list[str]:
        """Differences of the host and of all circumstances, and what they leave open, in words."""
        then, now = self.then, self.now
        sentences = [*self.changes]
        if then.hostname != now.hostname:
            sentences.insert(0, f"host {then.hostname}, now {now.hostname}")
        if now.image is None and (now.git_commit or "").endswith(DIRTY):
            sentences.append(
                "the checkout has uncommitted changes, so its runner may be another one"
            )
        return sentences

    def data(self) -> dict[str, Any]:
        return {
            **{
                name: {key: fact for key, fact in measured.data().items() if key not in _INTERNAL}
                for name, measured in (("then", self.then), ("now", self.now))
            },
            "ratio": self.ratio,
            "ratio_interval": self.ratio_interval and asdict(self.ratio_interval),
            "threshold": THRESHOLD,
            **outcome_facts(self.outcome, METRICS["latency"]),
            "differences": self.differences,
        }


def replay_result(request: ReplayRequest, observer: Observer) -> tuple[Replay | None, RunOutcome]:
    """Measure one result again, in the same image; None if that leaves no verdict."""
    database = request.database or request.results / DATABASE_NAME
    original = consented_original(request, database, observer)
    pinned = [original.pinned] if original.pinned else []
    images = {image.backend: image.reference for image in request.image or ()}
    launcher = make_launcher(original.launcher, observer.image_step, pinned, images)
    launcher.prepare(original.cell.backend)
    folder = begin_replay(original, request)
    options, is_pinned = RunOptions(database=database), original.pinned is not None
    outcome = execute_run(folder, launcher, observer, options, earlier_images=is_pinned)
    again = f"{folder.run.run_id}/{original.cell.id}"
    return replay_in(database, original.measured, again), outcome


def replay_in(database: Path, then: Measurement, result_id: str) -> Replay | None:
    """A result beside its repetition, which has this id; None if that left no verdict."""
    with Store.open_readonly(database) as store:
        now = store.measurement(result_id)
        if now is None:
            return None
        known = circumstances_of(store, [then.result_id, now.result_id])
    facts = [known[one.result_id] for one in (then, now) if one.result_id in known]
    return Replay(then, now, circumstance_changes(*facts) if len(facts) > 1 else ())


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
    yield from (f"note: {difference}" for difference in replay.differences)
    if (then := replay.then.batch_size) != (now := replay.now.batch_size):
        yield f"note: offline found another batch: {then}, now {now}"
    if "D" in {replay.then.grade, replay.now.grade}:
        yield "note: grade D says not to quote such a number"
    yield _verdict(replay)
    yield from deciding_lines([replay.outcome], replay.now.result_id.partition("/")[0])


def _verdict(replay: Replay) -> str:
    numbers, intervals = _compared(replay)
    ratio, outcome = replay.ratio_interval, replay.outcome
    if ratio is None or outcome is None:
        return f"There are no two {numbers} with {intervals} to compare."
    if outcome.kind == "equal":
        return f"The two {numbers} are {equal_words(THRESHOLD)}."
    if not outcome.is_shown:
        return f"Whether the two {numbers} differ is undecided ({outcome.reason})."
    if seeks_peak(replay.now):
        rate = ratio.inverse
        return (
            f"They differ by more than their brackets leave open: now the peak is"
            f" {_share(rate.value)} % {'higher' if rate.value > 1 else 'lower'},"
            f" {rate.low:.2f} to {rate.high:.2f} times as high."
        )
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
