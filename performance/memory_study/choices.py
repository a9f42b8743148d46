"""Choices of batches under memory limits, for models that the predictor has not seen.

The predictor learns from all models but one. For each series of that one the largest batch is
chosen whose memory fits under the limit of the series, as `recommend --memory` chooses it, and the
series itself tells whether that batch ran out of memory.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from analysis.predict.examples.example_rows import example_rows
from analysis.predict.examples.known_machines import known_machines
from analysis.predict.examples.placements import Example, KnownMachine
from analysis.predict.examples.targets import PREDICTION_TARGETS
from analysis.predict.forecaster import Forecaster
from analysis.predict.training import train_target
from analysis.recommend.figures import Figure
from analysis.recommend.known_results import known_verdicts, machines_in, memory_results
from analysis.recommend.memory_fit import MemoryResult, objection_by_memory
from analysis.recommend.objectives import OBJECTIVES
from analysis.results.selection import Selection
from orchestrator.commands.recommend.candidate_forecasts import predicted_figure
from orchestrator.store import Store
from runner.contract.cell import Cell
from runner.contract.models import ModelSpec, catalogue

_MEMORY = PREDICTION_TARGETS["memory"]
MOST_OUT, LEAST_USE = 0.05, 0.75
"""The bars: choices that may run out, and the mean share of the limit that the others use."""
Series = tuple[str, str, str, str]
"""Model, backend, runtime and precision."""


@dataclass(frozen=True)
class MemorySeries:
    """The cells of a model on a path, of which the larger ones ran out of memory."""

    key: Series
    limit_bytes: int
    peaks: Mapping[int, float]
    """Bytes by batch, of cells that ended well."""
    out: frozenset[int]
    """Batches that ran out."""
    cells: Mapping[int, Cell]

    @property
    def is_whole(self) -> bool:
        """True if it holds what fits and what does not."""
        return bool(self.peaks) and bool(self.out)

    def smallest(self, count: int) -> Sequence[int]:
        """The smallest batches of those that ended well, so many of them."""
        return sorted(self.peaks)[:count]


@dataclass(frozen=True)
class MemoryChoice:
    """The batch that was chosen for a series, and what became of it."""

    series: MemorySeries
    batch: int | None
    """None where no batch was sure to fit."""

    @property
    def ran_out(self) -> bool:
        """True if the series ran out at this batch."""
        return self.batch in self.series.out

    @property
    def use(self) -> float:
        """The share of the limit that it used; 0 where nothing was chosen, or it ran out."""
        return self.series.peaks.get(self.batch or 0, 0.0) / self.series.limit_bytes

    @property
    def best_use(self) -> float:
        """The share that the largest batch used which fitted, with none smaller that did not."""
        least_out = min(self.series.out)
        return (
            max(
                (peak for batch, peak in self.series.peaks.items() if batch < least_out),
                default=0.0,
            )
            / self.series.limit_bytes
        )


def read_series(store: Store) -> list[MemorySeries]:
    """All whole series of a database."""
    everything = Selection(every=True)
    (machine,) = machines_in(store, everything)
    results = [
        *memory_results(store, everything).get(machine.key, ()),
        *known_verdicts(store, everything).out_of_memory(machine),
    ]
    groups: dict[Series, list[MemoryResult]] = defaultdict(list)
    for result in results:
        cell = result.cell
        groups[cell.model, cell.backend, cell.runtime, cell.precision].append(result)
    series = [_series(key, group) for key, group in sorted(groups.items())]
    return [one for one in series if one.is_whole]


def _series(key: Series, results: Sequence[MemoryResult]) -> MemorySeries:
    return MemorySeries(
        key,
        max((one.limit_bytes or 0 for one in results), default=0),
        {one.cell.batch_size: one.peak_bytes for one in results if one.peak_bytes},
        frozenset(one.cell.batch_size for one in results if one.ran_out),
        {one.cell.batch_size: one.cell for one in results},
    )


def choices_of_series(store: Store, *, measured: int = 0) -> Iterator[MemoryChoice]:
    """The choice for each series, by a predictor that has not seen its model.

    Args:
        store: the database of the series.
        measured: the number of smallest batches of each series that were seen after all.
    """
    series = read_series(store)
    rows = example_rows(store, imported=False)
    examples, (machine, *_) = rows.examples(_MEMORY), known_machines(store, rows)
    begun = {(one.key, batch) for one in series for batch in one.smallest(measured)}
    for model in sorted({one.key[0] for one in series}):
        known = [one for one in examples if one.placement.model != model or _cell_of(one) in begun]
        predictor = train_target(_MEMORY, known)
        if predictor is None:
            continue
        forecaster = Forecaster({_MEMORY.name: predictor}, (machine,))
        for one in series:
            if one.key[0] == model:
                yield MemoryChoice(one, chosen_batch(one, forecaster, machine, measured))


def _cell_of(example: Example) -> tuple[Series, int]:
    placement = example.placement
    key = (placement.model, placement.backend, placement.runtime, placement.precision)
    return key, placement.batch_size


def chosen_batch(
    series: MemorySeries, forecaster: Forecaster, machine: KnownMachine, measured: int
) -> int | None:
    """The largest batch of a series that fits under its limit, as `recommend` sees it."""
    cells = [series.cells[batch] for batch in sorted(series.cells)]
    models: Mapping[str, ModelSpec] = catalogue()
    answers = forecaster.forecast(cells, models, _MEMORY.name, machine)
    known = [
        MemoryResult(series.cells[batch], series.peaks[batch])
        for batch in series.smallest(measured)
    ]
    chosen, predictor = None, forecaster.predictors[_MEMORY.name]
    for cell, answer in zip(cells, answers, strict=True):
        predicted = predicted_figure(answer, OBJECTIVES["memory"], predictor)
        figure = predicted if isinstance(predicted, Figure) else None
        if objection_by_memory(cell, series.limit_bytes, known, figure) is None:
            chosen = cell.batch_size
    return chosen


def report_choices(title: str, choices: Sequence[MemoryChoice], least_use: float = 0.0) -> bool:
    """Print the choices and their shares; True if few ran out and the others use so much."""
    print(f"\n{title}")
    print(f"{'model':<20}{'path':<24}{'limit MB':>9}{'chosen':>8}{'use':>7}{'best':>7}")
    for one in choices:
        model, backend, runtime, precision = one.series.key
        verdict = "out" if one.ran_out else f"{one.use:.0%}"
        print(
            f"{model:<20}{f'{backend} {runtime} {precision}':<24}"
            f"{one.series.limit_bytes / 1e6:>9,.0f}{one.batch or '-':>8}{verdict:>7}"
            f"{one.best_use:>7.0%}"
        )
    made = [one for one in choices if one.batch is not None]
    if not made:
        print("no series has a choice: too little was measured to promise any")
        return least_use == 0.0
    out = fmean(one.ran_out for one in made)
    use = fmean(one.use for one in made if not one.ran_out)
    best = fmean(one.best_use for one in choices)
    print(
        f"{len(made)} of {len(choices)} series have a choice; out of memory {out:.1%} of them"
        f" (at most {MOST_OUT:.0%}); mean use of the limit {use:.0%} (at least {least_use:.0%},"
        f" the best batches of the series {best:.0%})"
    )
    return out <= MOST_OUT and use >= least_use


def merged_bundle(bundle: Path, folder: Path) -> Path:
    """A database of a bundle, in a folder that is the caller's."""
    from orchestrator.commands.exchange.merge import merge_paths

    database = folder / "memory.duckdb"
    merge_paths([bundle], database, scratch=False)
    return database
