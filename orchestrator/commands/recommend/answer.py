"""Recommendations: what is asked, and the best measured or predicted choices for it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.recommend.candidates import COST, OBJECTIVES, Candidate, CandidateMachine
from analysis.recommend.choices import USUAL_CONFIDENCE, Choice, Requirements, choose_each
from analysis.recommend.known_results import machines_in
from analysis.recommend.service_levels import ServiceLevel
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource, text
from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.commands.options.bench_matrix import named_models
from orchestrator.commands.predict.stored_predictor import ReadyForecaster, ready_forecaster
from orchestrator.commands.recommend.known_candidates import CandidateKnowledge
from orchestrator.commands.recommend.prices import PriceList, read_prices
from orchestrator.matrix import Location, Matrix, Source, resolve
from orchestrator.planning.expand import expand
from orchestrator.screen.words.reasons import reason_text
from orchestrator.store.store import Store
from runner.contract.axes import AXES, RUNTIMES, AxisName, Backend, Precision
from runner.contract.errors import NothingToDo, UsageError, suggest
from runner.contract.support import SUPPORTED

COMMAND = "recommend"
BATCH_SIZES = tuple(1 << power for power in range(9))
FINE_BATCH_SIZES = (
    *range(1, 9),
    *(step << power for power in range(1, 8) for step in (5, 6, 7, 8)),
)
"""Batch sizes under a memory limit, of which little shall be left unused."""
_PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16", "fp16", "int8")
ASKED_MODES = ("inference", "generation", "training")
_OPTIONS: Mapping[Location, str] = {
    **{("axes", axis.name): axis.option for axis in AXES},
    ("axes",): COMMAND,
}


@dataclass(frozen=True)
class CandidateRequest:
    """The models that are asked about, and the values that narrow the candidates."""

    axes: Mapping[AxisName, Sequence[str]] = field(default_factory=dict)
    families: Sequence[str] = ()
    every_model: bool = False


def candidate_matrix(
    request: CandidateRequest, backends: Sequence[Backend], batch_sizes: Sequence[int]
) -> Matrix:
    named = {name: list(values) for name, values in request.axes.items() if values}
    for mode in named.get("mode", ()):
        if mode not in ASKED_MODES:
            raise UsageError(
                f"--mode: {mode!r} is not compared by {COMMAND}",
                hint=f"it takes {', '.join(ASKED_MODES)}",
            )
    models = named_models(
        COMMAND, named.pop("model", []), request.families, every_model=request.every_model
    )
    words = {axis.name for axis in AXES if axis.kind in ("model", "choice")}
    axes: dict[str, Any] = {
        name: values if name in words else [int(value) for value in values]
        for name, values in named.items()
    }
    runtimes = axes.pop("runtime", None)
    paths: dict[Backend, list[str]] = {backend: [] for backend in backends}
    for backend in backends:
        for runtime in RUNTIMES[backend]:
            is_built = backend == "fake" or any(key[:2] == (backend, runtime) for key in SUPPORTED)
            if is_built and (runtimes is None or runtime in runtimes):
                paths[backend].append(runtime)
    known = [backend for backend in backends if paths[backend]]
    if not known:
        raise UsageError(
            f"--runtime: {', '.join(runtimes or ())} executes on none of {', '.join(backends)}",
            hint="`orchestrator doctor` shows the backends of this machine",
        )
    precisions = {one for (of, _, _), own in SUPPORTED.items() if of in backends for one in own}
    data = {
        "version": 1,
        "axes": {
            "precision": [name for name in _PRECISIONS if name in precisions] or ["fp32"],
            "batch_size": list(batch_sizes),
            **axes,
            "model": models,
            "backend": known,
        },
        "backends": {name: {"axes": {"runtime": paths[name]}} for name in known},
    }
    return resolve(Source(COMMAND, data, options=_OPTIONS))


LoadForecaster = Callable[[Path, ArrowSource, Collection[str]], ReadyForecaster]
"""Opens what was trained from a database, for these targets."""


@dataclass(frozen=True)
class RecommendationRequest:
    """The question of what to recommend, as options name it."""

    database: Path
    candidates: CandidateRequest
    objective: str | None = None
    """The number to rank by; None for the one that follows from the other options."""
    level: ServiceLevel | None = None
    confidence: float = USUAL_CONFIDENCE
    memory_bytes: int | None = None
    prices: Path | None = None
    hardware: Sequence[str] = ()
    imported: bool = False


@dataclass(frozen=True)
class Recommendation:
    """The choices, and what they rest on."""

    request: RecommendationRequest
    requirements: Requirements
    choices: tuple[Choice, ...]
    """One for each model at each length that is asked about, in their order."""
    machines: tuple[CandidateMachine, ...]
    matrix: Matrix
    words: Mapping[str, str]
    """The word that each model was named by, where that is not its name."""
    prices: PriceList | None = None
    ready: ReadyForecaster = field(default_factory=ReadyForecaster)
    notes: tuple[str, ...] = ()

    @property
    def examples(self) -> Mapping[str, int]:
        forecaster, metric = self.ready.forecaster, self.requirements.objective.metric
        predictor = forecaster and forecaster.predictors.get(metric)
        return predictor.examples if predictor else {}


def recommend_cells(
    request: RecommendationRequest, load: LoadForecaster = ready_forecaster
) -> Recommendation:
    usual = COST if request.prices else "latency"
    if usual != COST and (request.level or request.memory_bytes):
        usual = "throughput"
    objective = OBJECTIVES[request.objective or usual]
    if objective.name == COST and request.prices is None:
        raise UsageError(
            "--objective cost needs the prices of devices: --prices FILE",
            hint="for example a file with `{currency: EUR, backends: {cpu: {per_hour: 0.10}}}`",
        )
    prices = read_prices(request.prices) if request.prices else None
    requirements = Requirements(
        objective,
        request.level,
        request.confidence,
        request.memory_bytes,
        largest_batch=request.memory_bytes is not None and request.objective is None,
    )
    with Store.open_readonly(request.database) as store:
        machines = _machines(store, request)
        backends, notes = _backends(machines, request)
        sizes = FINE_BATCH_SIZES if request.memory_bytes else BATCH_SIZES
        matrix = candidate_matrix(request.candidates, backends, sizes)
        latency = {OBJECTIVES["latency"].metric} if request.level else set()
        targets = {objective.metric, OBJECTIVES["memory"].metric, *latency}
        ready = load(request.database, store, targets)
        models = ", ".join(map(text, matrix.models))
        knowledge = CandidateKnowledge(
            requirements,
            store,
            Selection(condition=f"r.model IN ({models})", imported=request.imported),
            Selection(imported=request.imported),
            matrix.models,
            ready.forecaster,
            prices,
        )
        candidates = [
            (Candidate(cell, machine), None if reason is None else reason_text(reason))
            for cell, reason in expand(matrix).cells
            for machine in machines
            if cell.backend in machine.backends
        ]
        known = knowledge.judge(candidates)
    if prices:
        names = [*dict.fromkeys(name for one in machines for name in (one.name, *one.hosts))]
        notes += [f"{request.prices}: {sentence}" for sentence in prices.unused(names)]
    return Recommendation(
        request,
        requirements,
        choose_each(known, requirements),
        machines,
        matrix,
        _words(request, matrix),
        prices,
        ready,
        tuple(notes),
    )


def _machines(store: Store, request: RecommendationRequest) -> tuple[CandidateMachine, ...]:
    known = machines_in(store, Selection(every=True, imported=request.imported))
    if not known:
        raise NothingToDo(
            f"{request.database} holds no result of a device yet",
            hint="measure some: `orchestrator bench --model bert-tiny --backend available`",
        )
    if not request.hardware:
        return known
    wanted = {name.casefold() for name in request.hardware}
    names = {name for one in known for name in (one.name, one.key, *one.hosts)}
    for name in request.hardware:
        if name.casefold() not in {one.casefold() for one in names}:
            shown = sorted({one.name for one in known})
            raise UsageError(
                f"--hardware: nothing was measured on {name!r}{suggest(name, shown)}",
                hint=f"there are results of {', '.join(shown[:5])};"
                " `orchestrator query hardware_info` lists all",
            )
    return tuple(
        one
        for one in known
        if wanted & {name.casefold() for name in (one.name, one.key, *one.hosts)}
    )


def _backends(
    machines: Sequence[CandidateMachine], request: RecommendationRequest
) -> tuple[list[Backend], list[str]]:
    measured = {backend for machine in machines for backend in machine.backends}
    named = request.candidates.axes.get("backend") or ()
    known = [name for name in CATALOGUE if name in measured and (not named or name in named)]
    absent = [name for name in named if name not in measured]
    if not known:
        raise NothingToDo(
            f"nothing was measured on backend {', '.join(absent)}",
            hint=f"results are of {', '.join(sorted(measured))}; on a machine that has it:"
            f" `orchestrator bench --model bert-tiny --backend {absent[0]}`"
            if absent
            else None,
        )
    return known, [
        f"nothing was measured on backend {name}, so it is no candidate" for name in absent
    ]


def _words(request: RecommendationRequest, matrix: Matrix) -> dict[str, str]:
    """The word behind each model that a folder or a file brings, to name it in another matrix."""
    from runner.contract.models import catalogue

    named = request.candidates.axes.get("model", ())
    custom = [name for name in matrix.models if name not in catalogue()]
    paths = [word for word in named if word not in catalogue() and Path(word).exists()]
    return {name: str(Path(paths[0]).resolve()) for name in custom if len(paths) == 1}
