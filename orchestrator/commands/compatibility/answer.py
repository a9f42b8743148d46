"""The answer of `compatibility`: which model or family works how well on which backend, as a sheet.

The reasons and what helps stand below the table as footnotes.
"""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from analysis.compatibility.families import (
    REFERENCE,
    UNDECIDED,
    FamilySummary,
    MeanRatio,
    doubt_lines,
    summarise_families,
)
from analysis.compatibility.ratings import HIGH_SHARE, MEDIUM_SHARE, Level, Obstacle, Rating, rate
from analysis.compatibility.verdicts import read_evidence
from analysis.results.table import Field, Table
from analysis.statistics.numbers import format_number
from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.matrix.model_names import typed_name
from orchestrator.screen.sheet import ON_SCREEN, Sheet
from orchestrator.system.files import database_option
from runner.contract.errors import NothingToDo

if TYPE_CHECKING:
    from analysis.charts.chart import Chart


_EXAMPLE = "bert-tiny"
_Row = Literal["model", "family"]


@dataclass(frozen=True)
class CompatibilityReport:
    """The ratings of models on backends."""

    database: Path
    ratings: tuple[Rating, ...]
    families: tuple[FamilySummary, ...] | None = None
    """The families with a result; None if a row is a model."""

    @property
    def backends(self) -> tuple[str, ...]:
        """Backends with a verdict, in the catalogue's order."""
        known = {rating.backend for rating in self.ratings}
        return (*(name for name in CATALOGUE if name in known), *sorted(known - {*CATALOGUE}))

    def chart(self) -> "Chart | None":
        """The ratings drawn, or the families' speed-ups; None where there is none to draw."""
        from analysis.charts.compatibility import families_chart, ratings_chart

        if self.families is not None:
            return families_chart(self.families)
        return ratings_chart(self.ratings)


def report_compatibility(
    request: SelectionRequest, *, by_family: bool = False
) -> CompatibilityReport:
    """Rate all selected models on all backends that any of them has a verdict on."""
    with replace(request, of_verdicts=True).open() as (store, selection):
        ratings = rate(read_evidence(store, selection))
        families = summarise_families(store, selection) if by_family else None
    if ratings:
        return CompatibilityReport(request.database, ratings, families)
    models = request.filters.get("model") or _EXAMPLE
    names = ",".join(map(typed_name, [models] if isinstance(models, str) else models))
    raise NothingToDo(
        "no verdict fits the filters"
        if request.filters or request.run
        else f"{request.database}: holds no verdict yet",
        hint=f"`orchestrator bench --model {names} --backend available` measures on all that is"
        " here",
    )


_MOST_ROWS, _MOST_NOTES = 50, 12
"""Files have all of them."""
_LEVELS: tuple[Level, ...] = get_args(Level)
_MOST_MARKS = 2
"""Footnotes that a cell of the table names."""
_WORDY, _ESSENTIAL = 3, 2
"""Backends beside which there is room for words in place of a dash, and those never left out."""
_IMPORTED_MARK = "*"
_NOT_MEASURED: Level = "not measured"
_RATIOS = ("speedup", "int8_memory", "scaling")


def compatibility_sheet(report: CompatibilityReport, form: str) -> Sheet:
    """The ratings as a sheet of this format; in CSV a model on a backend, or a family, a line."""
    families = report.families
    name = "model" if families is None else "family"
    data = [_data(rating) for rating in report.ratings]
    title = f"Compatibility: {'models' if families is None else 'families'} × backends"
    document = {
        "by": name,
        "thresholds": {"High": HIGH_SHARE, "Medium": MEDIUM_SHARE},
        "ratings": data,
        **({} if families is None else {"families": [*map(asdict, families)]}),
    }
    on_screen = form == ON_SCREEN
    rows = _rows(report.ratings, name)
    shown = dict(list(rows.items())[: _MOST_ROWS if on_screen else None])
    footnotes = _Footnotes([one for ratings in shown.values() for one in ratings])
    table = _table(report, name, shown, footnotes, short=on_screen)
    more = len(rows) - len(shown)
    notes = (
        *([f"… and {more:,} more rows; --format csv has them all"] if more else []),
        _answer(report),
        *footnotes.lines(_MOST_NOTES if on_screen else None),
        *_notes(report.ratings),
    )
    words = ["compare", "--by", "backend", "--metric", "throughput"]
    command = f"orchestrator {shlex.join([*words, *database_option(report.database)])}"
    if not families:
        flat = data if families is None else []
        return Sheet(title, (table,), (*notes, f"next: `{command}`"), document, flat)
    tables = (replace(table, notes=(*table.notes, *notes)), _families_table(families))
    return Sheet(title, tables, (f"next: `{command}`",), document, [*map(_flat, families)])


def _data(rating: Rating) -> dict[str, Any]:
    facts = asdict(rating)
    runtime, precision = facts.pop("fastest") or (None, None)
    obstacle = facts.pop("obstacle") or dict.fromkeys(("verdict", "reason", "remedy"))
    return facts | {"runtime": runtime, "precision": precision} | obstacle


class _Footnotes:
    """Numbers of obstacles; those with one remedy stand together."""

    def __init__(self, ratings: Sequence[Rating]) -> None:
        by_remedy: dict[str | None, dict[Obstacle, None]] = {}
        for rating in ratings:
            if rating.obstacle:
                by_remedy.setdefault(rating.obstacle.remedy, {})[rating.obstacle] = None
        obstacles = [obstacle for group in by_remedy.values() for obstacle in group]
        self._numbers = {obstacle: number for number, obstacle in enumerate(obstacles, start=1)}

    def marks(self, ratings: Sequence[Rating]) -> str:
        """The numbers of these ratings, ` [1] [3]`; empty if they have none."""
        numbers = {self._numbers[one.obstacle] for one in ratings if one.obstacle}
        more = " …" if len(numbers) > _MOST_MARKS else ""
        return "".join(f" [{number}]" for number in sorted(numbers)[:_MOST_MARKS]) + more

    def lines(self, most: int | None) -> Iterator[str]:
        """The reasons, at most so many, and below them the remedy that is for them."""
        obstacles = list(self._numbers)[:most]
        for number, obstacle in enumerate(obstacles, start=1):
            reason = "; ".join((obstacle.reason or "no reason is known").splitlines())
            yield f"[{number}] {obstacle.verdict}: {reason}"
            following = obstacles[number : number + 1]
            if obstacle.remedy and all(one.remedy != obstacle.remedy for one in following):
                yield f"  remedy: {obstacle.remedy}"
        if more := len(self._numbers) - len(obstacles):
            yield f"… and {more:,} more reasons; --format json has them all"


_Rows = Mapping[tuple[str, str], Sequence[Rating]]


def _rows(ratings: Sequence[Rating], name: str) -> _Rows:
    """Our own measurements first, then what is known on most backends."""
    by_key: dict[tuple[str, str], list[Rating]] = {}
    for rating in ratings:
        key = (getattr(rating, name) or "unknown", rating.mode)
        by_key.setdefault(key, []).append(rating)

    def order(key: tuple[str, str]) -> tuple[Any, ...]:
        known = [one for one in by_key[key] if one.level != _NOT_MEASURED]
        ours = any(one.cells and not one.source for one in known)
        backends = {one.backend for one in known}
        return not ours, key[1] == "unknown", -len(backends), key

    return {key: by_key[key] for key in sorted(by_key, key=order)}


def _table(
    report: CompatibilityReport, name: str, rows: _Rows, footnotes: _Footnotes, *, short: bool
) -> Table:
    """A row for each model or family in each mode; where backends are many, a dash for nothing."""
    modes = {mode for _, mode in rows}
    shared = modes.pop() if len(modes) == 1 else ""
    backends: Sequence[str] = report.backends
    if short:  # the last columns may be left out
        ratings = (rating for several in rows.values() for rating in several)
        counts = Counter(rating.backend for rating in ratings if rating.level != _NOT_MEASURED)
        backends = sorted(backends, key=lambda backend: -counts[backend])
    is_narrow = short and len(backends) > _WORDY
    fields = [
        Field(name, essential=True, wraps=True),
        *([] if shared else [Field("mode", essential=True)]),
        *(Field(one, essential=index < _ESSENTIAL) for index, one in enumerate(backends)),
    ]
    describe = _levels_of_family if name == "family" else _level_of_model
    lines: list[dict[str, str | None]] = []
    for (subject, mode), several in rows.items():
        on = {one: [rating for rating in several if rating.backend == one] for one in backends}
        nothing = None if is_narrow else _NOT_MEASURED
        levels = {one: describe(on[one], footnotes) or nothing for one in backends}
        lines.append({name: subject, "mode": mode, **levels})
    return Table(shared, fields, lines, ["–: not measured"] if is_narrow else ())


def _level_of_model(ratings: Sequence[Rating], footnotes: _Footnotes) -> str:
    """The level with the share, `High 67 %`; empty if nothing was measured."""
    (rating,) = ratings
    if rating.level == _NOT_MEASURED:
        return ""
    share = "" if rating.share is None or rating.level == "N/A" else f" {_percent(rating.share)}"
    mark = _IMPORTED_MARK if rating.source else ""
    return f"{rating.level}{share}{mark}{footnotes.marks(ratings)}"


def _levels_of_family(ratings: Sequence[Rating], footnotes: _Footnotes) -> str:
    """The number of models of each level, `3 High, 1 N/A [2]`; empty if nothing was measured."""
    counts = Counter(rating.level for rating in ratings if rating.level != _NOT_MEASURED)
    mark = _IMPORTED_MARK if any(rating.source for rating in ratings) else ""
    levels = (f"{counts[level]:,} {level}" for level in _LEVELS if counts[level])
    return f"{', '.join(levels)}{mark}{footnotes.marks(ratings)}"


def _percent(share: float) -> str:
    return f"{share * 100:.{0 if share >= 0.0995 else 1}f} %"


def _answer(report: CompatibilityReport) -> str:
    unmeasured = (_NOT_MEASURED, "not tried")
    measured = Counter(one.backend for one in report.ratings if one.level not in unmeasured)
    high = Counter(one.backend for one in report.ratings if one.level == "High")
    shares = (f"{one} {high[one]:,} of {measured[one]:,}" for one in report.backends)
    return f"High, of those with a verdict: {', '.join(shares)}"


def _notes(ratings: Sequence[Rating]) -> Iterator[str]:
    yield (
        f"High: proven, correct and at least {_percent(HIGH_SHARE)} of the best backend's"
        f" throughput for the same cell; Medium: at least {_percent(MEDIUM_SHARE)}; Low: less, or"
        " with limits; each backend by its best runtime and precision, the median over cells"
    )
    if any(one.level == "High" and one.share is None for one in ratings):
        yield "High without a percentage: no other backend was timed in the same cell"
    if any(one.level == "verified only" for one in ratings):
        yield "verified only: it works and is right, and nothing was timed there"
    if any(one.level == "not tried" for one in ratings):
        yield "not tried: nothing was executed there, which says nothing of whether it works"
    if sources := sorted({one.source for one in ratings if one.source}):
        yield f"{_IMPORTED_MARK} measured by {', '.join(sources)}: neither proven nor verified"
    doubtful, cells = sum(one.doubtful for one in ratings), sum(one.cells for one in ratings)
    if doubtful:
        yield (
            f"{doubtful:,} of the {cells:,} throughputs behind it are of grade D, so levels near a"
            " threshold may change: measure longer, e.g. with `--profile standard`"
        )


def _families_table(families: Sequence[FamilySummary]) -> Table:
    fields = [
        Field("family", essential=True, wraps=True),
        Field("models"),
        Field("backend", "best", essential=True),
        Field("speedup", f"× {REFERENCE} (n)", essential=True, right=True),
        Field("int8_memory", "int8 MB (n)", essential=True, right=True),
        Field("scaling", "scaling (n)", essential=True, right=True),
    ]
    rows = [
        {
            "family": f"{one.family}{_IMPORTED_MARK if one.sources else ''}",
            "models": one.models,
            "backend": one.backend or UNDECIDED,
            "speedup": _ratio_text(one.speedup) if one.backend else None,
            "int8_memory": _ratio_text(one.int8_memory),
            "scaling": _ratio_text(one.scaling, f" at b{one.largest_batch}"),
        }
        for one in families
    ]
    return Table("Families of models", fields, rows, [*_family_notes(families)])


def _ratio_text(ratio: MeanRatio | None, more: str = "") -> str:
    return f"{format_number(ratio.value)}{more} ({ratio.cells:,})" if ratio else _NOT_MEASURED


def _flat(family: FamilySummary) -> dict[str, Any]:
    """A family as a line of CSV: `speedup`, `speedup_low`, `speedup_cells` and so on."""
    facts = asdict(family)
    nothing = dict.fromkeys(field.name for field in fields(MeanRatio))
    for name in _RATIOS:
        ratio = facts.pop(name) or nothing
        facts |= {f"{name}_{part}".removesuffix("_value"): ratio[part] for part in nothing}
    return facts | {"sources": ", ".join(family.sources)}


def _family_notes(families: Sequence[FamilySummary]) -> Iterator[str]:
    faster = [
        f"{one.backend} {format_number(one.speedup.value)} times for {one.family}"
        for one in families
        if one.speedup and one.backend not in (None, REFERENCE)
    ]
    if faster:
        yield f"faster than the CPU beyond noise: {', '.join(faster)}"
    else:
        yield "no backend is shown to be faster than the CPU in most cells, as far as was measured"
    yield (
        f"n: cells, of which ratios are the geometric mean; × {REFERENCE}: throughput of the best"
        " backend by the CPU's in the same cell, each by its best runtime; int8 MB: memory in int8"
        " by that in fp32; scaling: throughput at the largest batch by batch times that of batch 1"
    )
    yield from doubt_lines(families)
    if sources := sorted({name for one in families for name in one.sources}):
        yield f"{_IMPORTED_MARK} partly measured by {', '.join(sources)}: never proven nor verified"
