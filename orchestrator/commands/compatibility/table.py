"""Compatibility as a sheet: models × backends, with the reasons and what helps as footnotes."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, get_args

from analysis.compatibility.ratings import HIGH_SHARE, MEDIUM_SHARE, Level, Obstacle, Rating
from analysis.results.table import Field, Table
from orchestrator.commands.compatibility.answer import CompatibilityReport
from orchestrator.commands.compatibility.families_table import families_table, flat_families
from orchestrator.screen.sheet import ON_SCREEN, Sheet
from orchestrator.system.files import database_option

_MOST_ROWS, _MOST_NOTES = 50, 12
"""Rows and reasons that a terminal shows; files have all of them."""
_LEVELS: tuple[Level, ...] = get_args(Level)
_MOST_MARKS = 2
"""Footnotes that a cell of the table names."""
_WORDY, _ESSENTIAL = 3, 2
"""Backends beside which there is room for words in place of a dash, and those never left out."""
_IMPORTED_MARK = "*"
_NOT_MEASURED: Level = "not measured"


@dataclass(frozen=True)
class _Footnotes:
    """Numbers of obstacles; those with one remedy stand together."""

    numbers: Mapping[Obstacle, int]

    @classmethod
    def of(cls, ratings: Sequence[Rating]) -> "_Footnotes":
        by_remedy: dict[str | None, dict[Obstacle, None]] = {}
        for rating in ratings:
            if rating.obstacle:
                by_remedy.setdefault(rating.obstacle.remedy, {})[rating.obstacle] = None
        obstacles = [obstacle for group in by_remedy.values() for obstacle in group]
        return cls({obstacle: number for number, obstacle in enumerate(obstacles, start=1)})

    def marks(self, ratings: Sequence[Rating]) -> str:
        """The numbers of these ratings, ` [1] [3]`; empty if they have none."""
        numbers = {self.numbers[one.obstacle] for one in ratings if one.obstacle}
        more = " …" if len(numbers) > _MOST_MARKS else ""
        return "".join(f" [{number}]" for number in sorted(numbers)[:_MOST_MARKS]) + more

    def lines(self, most: int | None) -> Iterator[str]:
        """The reasons, at most so many, and below them the remedy that is for them."""
        obstacles = list(self.numbers)[:most]
        for index, obstacle in enumerate(obstacles):
            reason = "; ".join((obstacle.reason or "no reason is known").splitlines())
            yield f"[{self.numbers[obstacle]}] {obstacle.verdict}: {reason}"
            following = obstacles[index + 1 : index + 2]
            if obstacle.remedy and all(one.remedy != obstacle.remedy for one in following):
                yield f"  remedy: {obstacle.remedy}"
        if more := len(self.numbers) - len(obstacles):
            yield f"… and {more:,} more reasons; --format json has them all"


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
    rows = _rows(report, name)
    shown = rows[: _MOST_ROWS if on_screen else None]
    footnotes = _Footnotes.of([one for row in shown for one in row.ratings])
    table = _table(report, name, shown, footnotes, short=on_screen)
    more = len(rows) - len(shown)
    cut = (f"… and {more:,} more rows; --format csv has them all",) if more else ()
    notes = (
        *cut,
        _answer(report),
        *footnotes.lines(_MOST_NOTES if on_screen else None),
        *_notes(report),
    )
    flat = data if families is None else flat_families(families)
    if not families:
        return Sheet(title, (table,), (*notes, _next(report)), document, flat)
    levels = replace(table, notes=(*table.notes, *notes))
    return Sheet(title, (levels, families_table(families)), (_next(report),), document, flat)


@dataclass(frozen=True)
class _Row:
    """One model or family in one mode."""

    name: str
    mode: str
    ratings: tuple[Rating, ...]

    @property
    def order(self) -> tuple[Any, ...]:
        """Our own measurements first, then what is known on most backends."""
        known = [one for one in self.ratings if one.level != _NOT_MEASURED]
        ours = any(one.cells and not one.source for one in known)
        return (not ours, self.mode == "unknown", -len({one.backend for one in known}))

    def on(self, backend: str) -> list[Rating]:
        return [one for one in self.ratings if one.backend == backend]


def _rows(report: CompatibilityReport, name: str) -> list[_Row]:
    by_key: dict[tuple[str, str], list[Rating]] = {}
    for rating in report.ratings:
        key = (getattr(rating, name) or "unknown", rating.mode)
        by_key.setdefault(key, []).append(rating)
    rows = [_Row(*key, tuple(ratings)) for key, ratings in sorted(by_key.items())]
    return sorted(rows, key=lambda row: row.order)


def _table(
    report: CompatibilityReport,
    name: str,
    rows: Sequence[_Row],
    footnotes: _Footnotes,
    *,
    short: bool,
) -> Table:
    """A row for each model or family in each mode; where backends are many, a dash for nothing."""
    modes = {row.mode for row in rows}
    shared = modes.pop() if len(modes) == 1 else ""
    backends = _by_use(report.backends, rows) if short else report.backends
    is_narrow = short and len(backends) > _WORDY
    fields = [
        Field(name, essential=True, wraps=True),
        *([] if shared else [Field("mode", essential=True)]),
        *(Field(one, essential=index < _ESSENTIAL) for index, one in enumerate(backends)),
    ]
    describe = _levels_of_family if name == "family" else _level_of_model
    nothing = None if is_narrow else _NOT_MEASURED
    shown: list[dict[str, str | None]] = [
        {
            name: row.name,
            "mode": row.mode,
            **{one: describe(row.on(one), footnotes) or nothing for one in backends},
        }
        for row in rows
    ]
    return Table(shared, fields, shown, ["–: not measured"] if is_narrow else ())


def _by_use(backends: Sequence[str], rows: Sequence[_Row]) -> list[str]:
    """The backends with the most rows first, as the last columns may be left out."""
    counts = Counter(
        rating.backend for row in rows for rating in row.ratings if rating.level != _NOT_MEASURED
    )
    return sorted(backends, key=lambda backend: -counts[backend])


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


def _notes(report: CompatibilityReport) -> Iterator[str]:
    ratings = report.ratings
    yield (
        f"High: proven, correct and at least {_percent(HIGH_SHARE)} of the best backend's"
        f" throughput for the same cell; Medium: at least {_percent(MEDIUM_SHARE)}; Low: less, or"
        " with limits; each backend by its best runtime and precision, the median over cells"
    )
    if any(one.level == "High" and one.share is None for one in ratings):
        yield "High without a percentage: no other backend was timed in the same cell"
    if any(one.level == "verified only" for one in ratings):
        yield "verified only: it works and is right, and nothing was timed there"
    if sources := sorted({one.source for one in ratings if one.source}):
        yield f"{_IMPORTED_MARK} measured by {', '.join(sources)}: neither proven nor verified"
    doubtful, cells = sum(one.doubtful for one in ratings), sum(one.cells for one in ratings)
    if doubtful:
        yield (
            f"{doubtful:,} of the {cells:,} throughputs behind it are of grade D, so levels near a"
            " threshold may change: measure longer, e.g. with `--profile standard`"
        )


def _next(report: CompatibilityReport) -> str:
    words = ["compare", "--by", "backend", "--metric", "throughput"]
    return f"next: `orchestrator {shlex.join([*words, *database_option(report.database)])}`"


def _answer(report: CompatibilityReport) -> str:
    """The number of rows that each backend is High in, of those that have a verdict on it."""
    measured = Counter(one.backend for one in report.ratings if one.level != _NOT_MEASURED)
    high = Counter(one.backend for one in report.ratings if one.level == "High")
    shares = (f"{one} {high[one]:,} of {measured[one]:,}" for one in report.backends)
    return f"High, of those with a verdict: {', '.join(shares)}"


def _data(rating: Rating) -> dict[str, Any]:
    """A rating as files have it."""
    facts = asdict(rating)
    runtime, precision = facts.pop("fastest") or (None, None)
    obstacle = facts.pop("obstacle") or dict.fromkeys(("verdict", "reason", "remedy"))
    return facts | {"runtime": runtime, "precision": precision} | obstacle
