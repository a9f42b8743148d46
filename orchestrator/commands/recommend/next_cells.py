"""The cells of a matrix to measure next: those that would narrow the predictions of others most."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from analysis.predict.examples.placements import Placement, unpredicted_part
from analysis.recommend.this_host import HostVerdicts, hardware_of_host, host_placing, host_verdicts
from orchestrator.backends.machine import this_host
from orchestrator.commands.measure.plan import plan_run
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.commands.predict.host_forecast import HostForecast, host_forecast
from orchestrator.commands.predict.stored_predictor import open_predictor
from orchestrator.launchers.diagnosis import absent_devices
from orchestrator.matrix import MatrixData, Source, cells_document, matrix_source, resolve
from orchestrator.planning.expand import expand
from orchestrator.planning.plan import Plan, PlannedCell
from orchestrator.store.store import Store
from orchestrator.system.files import predictor_folder
from runner.contract.axes import Backend
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
        return HostKnowledge(
            placements=example_rows(store, imported=imported).placements,
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
    plan, _ = plan_run(wanted, grouped=False)
    candidates, left_out = _candidates(plan, known, absent_devices())
    measured = sum(entry.cell.id in known.verdicts.measured for entry in plan.entries)
    if not candidates:
        others = [f"{count:,} {reason}" for reason, count in left_out.items()]
        more = ["…"] if len(others) > _MOST_NAMED else []
        parts = [f"{measured:,} measured already"] if measured else []
        message = ", ".join([*parts, *others[:_MOST_NAMED], *more])
        raise NothingToDo(
            f"{matrix}: no cell is left to measure here: {message}",
            hint="add values to its axes, or see why cells are skipped: `orchestrator plan MATRIX`",
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
