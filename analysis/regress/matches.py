"""Matches: which results of two sides are of the same series, and why others are not judged."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from analysis.compare.runs import CellVerdict
from analysis.compare.values import PART
from analysis.regress.launches import LaunchedResult, launched_results
from analysis.results.comparability import COMPARABLE
from analysis.results.conditions import hardware_differences
from analysis.results.metrics import Metric
from analysis.results.selection import Side
from analysis.results.series import SERIES

_WORDS: Mapping[str, str] = {
    "model_id": "model configuration",
    "weights_revision": "weights' revision",
    "weights_seed": "seed of the weights",
    "hardware_id": "hardware",
    "timed_region": "timed region",
    "container_cpu_limit": "CPU limit",
    **COMPARABLE,
}
_LETTERS = 12
"""Letters of a hash that are shown."""
_OF_MODELS = frozenset({"model_id", "weights_revision"})
"""Columns by which two versions of a model differ."""
_HASHES = frozenset({"model_id", "hardware_id", "weights_revision"})


SideVerdicts: TypeAlias = Sequence[Mapping[str, CellVerdict]]
"""The verdicts of two sides, the earlier one's first, by cell id."""


@dataclass(frozen=True)
class Pair:
    """Two results of one series."""

    before: LaunchedResult
    after: LaunchedResult


@dataclass(frozen=True)
class Refusal:
    """A cell of both sides that is not judged."""

    cell_id: str
    reason: str
    before: LaunchedResult | None = None
    after: LaunchedResult | None = None
    undecided: bool = False
    """True if a side that tells more could be compared."""


@dataclass(frozen=True)
class Matches:
    """The results of two sides, put together."""

    pairs: tuple[Pair, ...]
    refusals: tuple[Refusal, ...]
    only_before: tuple[str, ...]
    """Cells of which the later side has no verdict."""
    only_after: tuple[str, ...]
    """Cells of which the earlier side has none."""


def matches_of(
    sides: tuple[Side, Side], verdicts: SideVerdicts, metric: Metric, *, per_host: bool
) -> Matches:
    """The results of both sides by series, and the cells that cannot be compared.

    Args:
        sides: the earlier side and the later one.
        verdicts: the verdict of each cell of these sides, by its id.
        metric: the metric whose values are compared.
        per_host: True if machines with different names have series of their own.
    """
    earlier, later = (launched_results(side.source, side.selection, metric) for side in sides)
    by_cell: dict[tuple[str, object], list[LaunchedResult]] = defaultdict(list)
    for one in earlier:
        by_cell[one.cell_id, one.facts[PART]].append(one)
    pairs, refusals = [], []
    for after in later:
        candidates = by_cell.get((after.cell_id, after.facts[PART]), [])
        before = _of_series(after, candidates, per_host=per_host)
        if before is not None:
            pairs.append(Pair(before, after))
        elif candidates:
            reason = _another_series(candidates[-1], after, per_host=per_host)
            refusals.append(Refusal(after.cell_id, reason, candidates[-1], after))
    values = [{one.cell_id for one in side} for side in (earlier, later)]
    cells = [{*known, *having} for known, having in zip(verdicts, values, strict=True)]
    return Matches(
        pairs=tuple(pairs),
        refusals=(*refusals, *_without_value(verdicts, values, [side.lacks for side in sides])),
        only_before=tuple(sorted(cells[0] - cells[1])),
        only_after=tuple(sorted(cells[1] - cells[0])),
    )


def _of_series(
    after: LaunchedResult, candidates: Sequence[LaunchedResult], *, per_host: bool
) -> LaunchedResult | None:
    """The newest result of the same series; None without one.

    Of two whose launches took turns the models may differ: they were measured to be compared.
    """
    key = after.key(per_host=per_host)
    newest = [*reversed(candidates)]
    same = next((one for one in newest if one.key(per_host=per_host) == key), None)
    return same or next((one for one in newest if _took_turns(one, after, per_host)), None)


def _took_turns(before: LaunchedResult, after: LaunchedResult, per_host: bool) -> bool:
    """True if the launches of both took turns, and nothing but the model differs."""
    beside = after.facts["interleaved_with"]
    if beside is None or beside != before.facts["run_id"]:
        return False
    names = {*SERIES, *COMPARABLE, *(["hostname"] if per_host else [])} - _OF_MODELS
    return all(before.facts[name] == after.facts[name] for name in names)


def _another_series(before: LaunchedResult, after: LaunchedResult, *, per_host: bool) -> str:
    """The differences that make two results of one cell those of two series."""
    names = (*SERIES, *COMPARABLE, *(["hostname"] if per_host else []))
    differing = [name for name in names if before.facts[name] != after.facts[name]]
    return ", ".join(
        f"another {_WORDS.get(name, name)}: {_difference(name, before.facts, after.facts)}"
        for name in differing
    )


def _difference(name: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Both values; of machines whose devices have one name, what differs behind it."""
    device, behind = then["hardware"], ""
    if name == "hardware_id" and device and device == now["hardware"]:
        behind = "; ".join(hardware_differences(then, now))
    if behind:
        return f"{device} with {behind}"
    return f"{_shown(name, then)}, now {_shown(name, now)}"


def _shown(name: str, facts: Mapping[str, Any]) -> str:
    value = facts[name]
    if name == "hardware_id" and facts["hardware"]:
        return f"{facts['hardware']} ({str(value)[:_LETTERS]})"
    return str(value)[:_LETTERS] if name in _HASHES else str(value)


def _without_value(
    verdicts: SideVerdicts, values: Sequence[set[str]], lacks: Sequence[str | None]
) -> Iterator[Refusal]:
    """Cells of both sides of which one side alone has a value."""
    then, now = verdicts
    for cell_id in sorted(then.keys() & now.keys()):
        had, has = (cell_id in side for side in values)
        if had == has:
            continue
        if then[cell_id].kind != now[cell_id].kind:
            words = f"{then[cell_id].words}, now {now[cell_id].words}"
            yield Refusal(cell_id, words)
            continue
        words = "no value of it before" if has else "no value of it now"
        if lacking := lacks[0 if has else 1]:
            yield Refusal(cell_id, f"{words}; {lacking}", undecided=True)
        else:
            yield Refusal(cell_id, words)
