"""The cells of a matrix to measure next: those that would narrow the predictions of others most."""

import json
import math
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from analysis.predict.examples.placements import Placement, unpredicted_part
from analysis.recommend.known_results import (
    HostVerdicts,
    hardware_of_host,
    host_placing,
    host_verdicts,
)
from analysis.results.table import Field, Table
from orchestrator.backends.machine import this_host
from orchestrator.commands.measure.plan import plan_run
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.commands.predict.host_forecast import HostForecast, host_forecast
from orchestrator.commands.predict.stored_predictor import open_predictor, predictor_folder
from orchestrator.launchers.diagnosis import absent_devices
from orchestrator.matrix import (
    MatrixData,
    Source,
    cells_document,
    cells_text,
    matrix_source,
    resolve,
)
from orchestrator.planning.expand import expand
from orchestrator.planning.plan import Plan, PlannedCell
from orchestrator.screen.sheet import Sheet
from orchestrator.store.store import Store
from orchestrator.system.files import database_option
from orchestrator.system.text import format_duration, plural
from runner.contract.axes import AXIS_NAMES, Backend
from runner.contract.cell import Cell
from runner.contract.errors import NothingToDo, StoreError, UsageError
from runner.contract.models import ModelSpec

_MOST_NAMED = 2


@dataclass(frozen=True)
class HostKnowledge:
    """Measurements that predictors learn from, and verdicts and predictions of this machine."""

    placements: Sequence[Placement] = ()
    hardware_ids: frozenset[str] = frozenset()
    verdicts: HostVerdicts = field(default_factory=HostVerdicts)
    forecast: HostForecast | None = None
    """None without a predictor that knows this machine."""
    faults: tuple[str, ...] = ()

    def half_widths(
        self, cells: Sequence[Cell], models: Mapping[str, ModelSpec]
    ) -> list[float] | None:
        """Half the interval of each median latency, a logarithm; the widest where none is known."""
        if self.forecast is None:
            return None
        predictions = self.forecast.predictions(cells, models, "latency")
        widths = [math.log(one.high / one.low) / 2 if one else None for one in predictions]
        widest = max((width for width in widths if width is not None), default=None)
        if widest is None:
            return None
        return [widest if width is None else width for width in widths]


def host_knowledge(database: Path) -> HostKnowledge:
    from analysis.predict.examples.example_rows import example_rows

    if not database.is_file():
        return HostKnowledge()
    forecast, faults = None, list[str]()
    try:
        forecast = host_forecast(database)
    except (StoreError, UsageError) as error:
        faults.append(f"intervals are not predicted: {error}")
    host = this_host()
    with Store.open_readonly(database) as store:
        imported = False
        if predictor_folder(database).is_dir():
            with suppress(StoreError):
                imported = open_predictor(database, store).manifest.sources == "all"
        rows = example_rows(store, imported=imported)
        return HostKnowledge(
            placements=rows.placements,
            hardware_ids=hardware_of_host(store, host) if host else frozenset(),
            verdicts=host_verdicts(store, host) if host else HostVerdicts(),
            forecast=forecast,
            faults=tuple(faults),
        )


@dataclass(frozen=True)
class ProposedCell:
    """A cell to measure next."""

    entry: PlannedCell
    interval_share: float | None

    @property
    def seconds(self) -> float:
        return self.entry.estimate_s + self.entry.launch_s


@dataclass(frozen=True)
class NextCells:
    """The cells to measure next, and what is expected of it."""

    matrix: Path
    database: Path
    cells: tuple[ProposedCell, ...]
    candidates: int
    weighed: int
    """Those of them that were weighed against each other."""
    measured: int
    """Cells of the matrix that were measured on this machine."""
    left_out: Mapping[str, int]
    """Other cells, by the reason why they are not proposed."""
    examples: int
    interval: float | None
    """The mean factor by which predictions of the candidates may be off, 1.3 for 30 % more; None
    without a predictor that knows this machine."""
    faults: tuple[str, ...]
    document: MatrixData


def propose_next(
    matrix: Path, request: PlanRequest, limit: int, *, per_second: bool, folder: Path | None
) -> NextCells:
    """Choose cells to measure next, by cell or second, for a matrix that will lie in `folder`."""
    source = matrix_source(matrix, request.overrides)
    resolved = resolve(source)  # a mistake in it is answered before arrays are imported
    from analysis.recommend.next_cells import propose_cells, weighed_numbers

    known = host_knowledge(request.database)
    wanted = replace(request, matrix=resolved, overrides=(), find_forecast=lambda _: known.forecast)
    plan = plan_run(wanted)[0]
    candidates, left_out = _candidates(plan, known, absent_devices())
    measured = sum(entry.cell.id in known.verdicts.measured for entry in plan.entries)
    if not candidates:
        others = [f"{count:,} {reason}" for reason, count in left_out.items()]
        more = ["…"] if len(others) > _MOST_NAMED else []
        parts = [f"{measured:,} measured already"] if measured else []
        message = ", ".join([*parts, *others[:_MOST_NAMED], *more])
        raise NothingToDo(
            f"{matrix}: no cell is left to measure here: {message}",
            hint="add values to its axes, or see why cells are skipped: `orchestrator plan`",
        )
    numbers = weighed_numbers(len(candidates))
    weighed = [ProposedCell(candidates[number], None) for number in numbers]
    cells = [one.entry.cell for one in weighed]
    placement = host_placing(known.placements, known.hardware_ids)
    half_widths = known.half_widths(cells, plan.models)
    proposed = propose_cells(
        [placement(cell, plan.models[cell.model]) for cell in cells],
        known.placements,
        limit,
        seconds=[one.seconds for one in weighed] if per_second else None,
        half_widths=half_widths,
    )
    chosen = tuple(
        replace(weighed[one.index], interval_share=one.interval_share) for one in proposed
    )
    return NextCells(
        matrix=matrix,
        database=request.database,
        cells=chosen,
        candidates=len(candidates),
        weighed=len(weighed),
        measured=measured,
        left_out=left_out,
        examples=len(known.placements),
        interval=math.exp(sum(half_widths) / len(half_widths)) if half_widths else None,
        faults=known.faults,
        document=_document([one.entry.cell for one in chosen], source, folder),
    )


def _candidates(
    plan: Plan, known: HostKnowledge, absent: Collection[Backend]
) -> tuple[list[PlannedCell], dict[str, int]]:
    """The cells that can be measured here for the first time; the others by reason."""

    def reason_against(entry: PlannedCell) -> str | None:
        if entry.decision != "run":
            return entry.status
        if entry.cell.backend in absent:
            return f"of backend {entry.cell.backend}, whose device is not here"
        if part := unpredicted_part(entry.cell):
            return f"of {part}, which is not predicted"
        return known.verdicts.reason_against(entry.cell)

    candidates: list[PlannedCell] = []
    left_out: Counter[str] = Counter()
    for entry in plan.entries:
        if entry.cell.id in known.verdicts.measured:
            continue
        if reason := reason_against(entry):
            left_out[reason] += 1
        else:
            candidates.append(entry)
    return candidates, dict(left_out.most_common())


def _document(cells: Sequence[Cell], source: Source, folder: Path | None) -> MatrixData:
    """The matrix with these cells, checked as `run` would read it."""
    document = cells_document(cells, source, folder)
    base = folder if folder is not None else Path("/")
    expansion = expand(resolve(Source(source.name, document, base)))
    if {cell for cell, _ in expansion.cells} != set(cells):
        raise AssertionError(f"{source.name}: the matrix of next cells has other cells")
    return document


_FIELDS = (
    Field("cell", essential=True, wraps=True),
    Field("seconds", "takes", right=True, shown=lambda seconds: format_duration(round(seconds))),
    Field("seconds_by", "estimated"),
    Field(
        "interval_share",
        "interval then",
        essential=True,
        right=True,
        shown=lambda share: None if share is None else f"{share:.0%}",
    ),
    *(Field(name, hidden=True) for name in AXIS_NAMES),
)
_MOST_REASONS = 3
_REASONS = {"out_of_memory": "that cannot fit into memory"}
_EXAMPLE = "next.yaml"


def proposed_matrix_text(answer: NextCells, path: Path | None) -> str:
    if path is not None and path.suffix == ".json":
        return json.dumps(answer.document, indent=2) + "\n"
    count = len(answer.cells)
    comment = f"{count:,} {plural(count, 'cell')} of {answer.matrix} to measure next"
    return cells_text(answer.document, comment)


def next_sheet(answer: NextCells, written: Path | None = None) -> Sheet:
    rows = [
        {
            "cell": one.entry.cell.id,
            "seconds": one.seconds,
            "seconds_by": one.entry.estimated_by,
            "interval_share": one.interval_share,
            **{name: getattr(one.entry.cell, name) for name in AXIS_NAMES},
        }
        for one in answer.cells
    ]
    title = f"Cells of {answer.matrix} to measure next, the most helpful first"
    seconds = sum(one.seconds for one in answer.cells)
    document = {
        "matrix": str(answer.matrix),
        "database": str(answer.database),
        "cells": rows,
        "seconds": seconds,
        "candidates": answer.candidates,
        "weighed": answer.weighed,
        "measured": answer.measured,
        "left_out": answer.left_out,
        "examples": answer.examples,
        "interval_factor": answer.interval,
        "notes": list(answer.faults),
    }
    notes = (*_answer(answer, seconds), *_trust(answer), _next(answer, written))
    return Sheet(title, [Table(title, _FIELDS, rows)], notes, document)


def _answer(answer: NextCells, seconds: float) -> Iterator[str]:
    count, left = len(answer.cells), answer.candidates - len(answer.cells)
    these = "this cell" if count == 1 else f"these {count:,} cells"
    time = f"Measuring {these} takes about {format_duration(round(seconds))}"
    share = answer.cells[-1].interval_share
    if share is not None:
        now = f", now a factor of {answer.interval:.2f}," if answer.interval else ""
        narrowed = f"{1 - share:.0%}" if share < 0.995 else "less than 1 %"
        yield (
            f"{time}, and should narrow the mean 90 % interval of the other {left:,}"
            f" {plural(left, 'cell')}{now} by {narrowed}."
        )
    else:
        yield f"{time}; then nothing of the matrix is left to measure."
    total = answer.measured + answer.candidates
    yield (
        f"Of {total:,} {plural(total, 'cell')} that can be measured here {answer.measured:,}"
        f" {'is' if answer.measured == 1 else 'are'} measured now, and"
        f" {answer.measured + count:,} then ({(answer.measured + count) / total:.0%})."
    )


def _trust(answer: NextCells) -> Iterator[str]:
    if not answer.examples:
        yield "Nothing was measured that predictions could rest on: these cells spread over all."
    else:
        intervals = " and from intervals as they are now" if answer.interval else ""
        yield f"The narrowing is expected from how cells resemble each other{intervals}."
    if answer.weighed < answer.candidates:
        yield f"{answer.weighed:,} of {answer.candidates:,} cells, drawn at random, were weighed."
    if answer.left_out:
        parts = [
            f"{count:,} {_REASONS.get(reason, reason)}" for reason, count in answer.left_out.items()
        ]
        more = sum([*answer.left_out.values()][_MOST_REASONS:])
        others = [f"{more:,} for other reasons"] if more else []
        yield f"Left out: {', '.join([*parts[:_MOST_REASONS], *others])}."
    yield from answer.faults


def _next(answer: NextCells, written: Path | None) -> str:
    where = database_option(answer.database)
    if written is not None:
        return f"{written} has them: `{shlex.join(['orchestrator', 'run', str(written), *where])}`"
    words = ["recommend", "--next", str(answer.matrix), "--output", _EXAMPLE]
    command = shlex.join(["orchestrator", *words, *where])
    return f"`{command}` writes them as a matrix for `orchestrator run {_EXAMPLE}`"
