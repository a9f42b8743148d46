"""The results that a question is about, as a selection of a database or a side of a comparison."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

from analysis.results.metrics import METRICS, RATES_OF_SHARES, Metric
from analysis.results.row import seeks_peak_sql
from analysis.results.series import MODEL, SERIES
from analysis.results.source import OWN_SOURCES, ArrowSource, text
from analysis.statistics.ratios import THRESHOLD
from runner.contract.axes import Backend

_AT_ONCE = 5_000
MOST_RESULTS = 1_000
"""Results in one report unless somebody asks for more; those beyond are counted."""
IS_OURS = f"(r.source IN ({', '.join(map(text, OWN_SOURCES))}))"
_MEASURED = "(NOT r.simulated OR r.source = 'synthetic')"
OF_A_DEVICE = "(software_device IS DISTINCT FROM true)"
"""False for results of software in a device's place, whose times say nothing of the backend."""
_MODEL_IN_ID = "concat('-', {}, '-', precision)"
"""The part of a cell's id that names the model."""
_QUOTABLE = f"(r.proof = 'proven' AND r.correct IS DISTINCT FROM false AND {OF_A_DEVICE})"
"""Imported results never are, and are marked as what they are."""


@dataclass(frozen=True)
class Selection:
    """A set of results, by default the newest of each series that may be quoted."""

    condition: str = "true"
    """A condition in SQL on the columns of `benchmark_performance`."""
    run_id: str | None = None
    """The run whose results they are; None for the newest of all runs."""
    every: bool = False
    """True if older results of a series count too; those of a run do anyway."""
    imported: bool = False
    unquotable: bool = False
    """Also those without proof, with wrong outputs, or of software in a device's place."""
    threshold: float = THRESHOLD
    """The least relative change that matters where they are compared."""
    renamed: tuple[tuple[str, str], ...] = ()
    """Names of models with the names that they have here."""

    @property
    def relation(self) -> str:
        """The results as a relation of SQL, none of a simulator, with a column `quotable`."""
        every = self.every or self.run_id is not None
        view = "benchmark_performance" if every else "latest_results"
        views = [(f"{view}_all" if self.unquotable else view, IS_OURS)]
        if self.imported:
            views.append(("imported_results", f"NOT {IS_OURS}"))
        selects = (
            f"SELECT r.*, {_QUOTABLE} AS quotable FROM {view} r"
            f" WHERE {origin} AND r.status = 'ok' AND {_MEASURED} AND {self._chosen}"
            for view, origin in views
        )
        return self._named(f"({' UNION ALL BY NAME '.join(selects)})")

    @property
    def verdicts(self) -> str:
        """The newest verdicts, or those of the run, as a relation of SQL."""
        view = "latest_results_all" if self.run_id is None else "benchmark_performance_all"
        origin = "true" if self.imported else IS_OURS
        selected = f"SELECT r.* FROM {view} r WHERE {_MEASURED} AND {origin} AND {self._chosen}"
        return self._named(f"({selected})")

    def _named(self, relation: str) -> str:
        if not self.renamed:
            return relation
        names = " ".join(f"WHEN {text(name)} THEN {text(shown)}" for name, shown in self.renamed)
        model = f"CASE model {names} ELSE model END"
        cell_id = f"replace(cell_id, {_MODEL_IN_ID.format('model')}, {_MODEL_IN_ID.format(model)})"
        return f"(SELECT * REPLACE ({model} AS model, {cell_id} AS cell_id) FROM {relation})"

    @property
    def _chosen(self) -> str:
        of_run = "" if self.run_id is None else f" AND r.run_id = {text(self.run_id)}"
        return f"({self.condition}){of_run}"

    def without(self, ids: Iterable[str]) -> Self:
        named = ", ".join(map(text, sorted(ids)))
        if not named:
            return self
        return replace(self, condition=f"({self.condition}) AND r.result_id NOT IN ({named})")


def selected_cells(source: ArrowSource, selection: Selection) -> tuple[str, ...]:
    table = source.arrow(f"SELECT DISTINCT cell_id FROM {selection.relation} ORDER BY cell_id")
    return tuple(table["cell_id"].to_pylist())


def metrics_of(selection: Selection, names: Iterable[str]) -> Iterator[Metric]:
    """The metrics of these names, each with the least change that matters in this selection."""
    return (replace(METRICS[name], threshold=selection.threshold) for name in names)


_OFFLINE, _PEAK = "r.scenario = 'offline'", seeks_peak_sql()
_USUAL = (
    replace(METRICS["latency"], condition=f"({_OFFLINE} OR {_PEAK}) IS NOT TRUE"),
    replace(METRICS["throughput"], condition=_OFFLINE),
    replace(METRICS["peak_qps"], condition=_PEAK),
)


def usual_metrics(source: ArrowSource, selection: Selection) -> tuple[Metric, ...]:
    """Throughput for offline, the peak where one was sought, else the median latency."""
    counts = ", ".join(f"bool_or({metric.condition}) AS {metric.name}" for metric in _USUAL)
    (measured,) = source.arrow(f"SELECT {counts} FROM {selection.verdicts} r").to_pylist()
    return tuple(metric for metric in _USUAL if measured[metric.name]) or _USUAL[:1]


@dataclass(frozen=True)
class Side:
    """One side of a comparison: results of a database."""

    label: str
    """Its name on a screen: a run's id, a file, a host."""
    source: ArrowSource
    selection: Selection
    """At most one result of each series."""
    lacks: str | None = None
    """Says what its source does not tell, and names a richer one; None for records."""
    chosen_from: Selection | None = None
    """Those that it takes the newest of each series from; None where run or view tell them."""

    @property
    def history(self) -> Selection:
        return self.chosen_from or replace(self.selection, run_id=None, every=True)

    def named(self, renamed: tuple[tuple[str, str], ...]) -> Self:
        chosen = self.chosen_from and replace(self.chosen_from, renamed=renamed)
        selection = replace(self.selection, renamed=renamed)
        return replace(self, selection=selection, chosen_from=chosen)

    @property
    def result_ids(self) -> frozenset[str]:
        table = self.source.arrow(f"SELECT r.result_id FROM {self.selection.relation} r")
        return frozenset(table["result_id"].to_pylist())


def metric_of_sides(metric: Metric, before: Side, after: Side) -> Metric:
    """The metric by which the results of both sides compare.

    Shares of a peak are of the highest that a database knows, so that those of two databases are of
    different peaks: there it is the rate behind the share.
    """
    return metric if before.source is after.source else RATES_OF_SHARES.get(metric.column, metric)


def under_same_names(base: Side, run: Side) -> tuple[Side, Side]:
    """Both sides, the earlier one's models under the names that the later one has for them.

    A model is what it holds: a folder's name is a label.
    """
    then, now = (
        {(row["model_id"], row["weights_revision"]): row["model"] for row in _models(side)}
        for side in (base, run)
    )
    taken = {*then.values()}.intersection(now.values())
    renamed = tuple(
        (name, now[model])
        for model, name in then.items()
        if model in now and taken.isdisjoint((name, now[model]))
    )
    if not renamed:
        return base, run
    return base.named(renamed), run.named(renamed)


def _models(side: Side) -> list[dict[str, str]]:
    models: list[dict[str, str]] = side.source.arrow(f"""
        SELECT DISTINCT model, model_id, weights_revision FROM {side.selection.verdicts}
        WHERE model_id IS NOT NULL ORDER BY ALL
    """).to_pylist()
    return models


def hostnames(source: ArrowSource) -> list[str]:
    sql = "SELECT DISTINCT hostname FROM benchmark_results WHERE hostname IS NOT NULL ORDER BY 1"
    names: list[str] = source.arrow(sql)["hostname"].to_pylist()
    return names


def side_of_host(
    source: ArrowSource, selection: Selection, hostname: str, without: Iterable[str] = ()
) -> Side:
    """The newest result of each series that a host measured, whoever shares the series."""
    of_host = f"({selection.condition}) AND r.hostname = {text(hostname)}"
    every = replace(selection, condition=of_host, run_id=None, every=True).without(without)
    return Side(hostname, source, newest_of_hosts(every), chosen_from=every)


def newest_of_hosts(selection: Selection) -> Selection:
    """The newest result of each series on each host, whoever shares the series."""
    every = replace(selection, every=True)
    series = ", ".join(f"n.{name}" for name in (*SERIES, "hostname"))
    newest = f"""
        SELECT arg_max(n.result_id, (coalesce(n.measured_at, TIMESTAMPTZ '-infinity'), n.run_id))
        FROM {every.relation} n GROUP BY {series}
    """
    chosen = f"{every.condition} AND (r.status <> 'ok' OR r.result_id IN ({newest}))"
    return replace(every, condition=chosen)


def timed_runs(source: ArrowSource, selection: Selection) -> set[str]:
    """The runs with a selected result that has a time, or a rate where a file tells no time."""
    every = replace(selection, run_id=None, every=True)
    timed = "coalesce(r.latency_median_ms, r.latency_mean_ms, r.throughput) IS NOT NULL"
    return runs_with(source, every.relation, timed)


def runs_with(source: ArrowSource, relation: str, condition: str) -> set[str]:
    table = source.arrow(f"SELECT DISTINCT r.run_id FROM {relation} r WHERE {condition}")
    return set(table["run_id"].to_pylist())


def runs_sharing(
    source: ArrowSource, selection: Selection, side: Side, *, per_host: bool, by_name: bool = False
) -> set[str]:
    """The ids of the runs that share a series with a side, without those that it holds.

    With `by_name` another model of the same name will do.
    """
    shared = (*SERIES, "hostname") if per_host else SERIES
    if by_name:
        facts = [f"r.{name}" for name in shared if name not in MODEL]
    else:
        nameless = f"replace(r.cell_id, {_MODEL_IN_ID.format('r.model')}, '')"
        facts = [nameless, *(f"r.{name}" for name in shared if name != "cell_id")]
        facts.append("coalesce(r.model_id, r.model)")
    series = f"hash({', '.join(facts)})"
    (wanted,) = side.source.arrow(f"""
        SELECT list(DISTINCT {series})::VARCHAR[] AS series, list(DISTINCT r.run_id) AS runs
        FROM {side.selection.relation} r
    """).to_pylist()
    if not wanted["series"]:
        return set()
    every = replace(selection, run_id=None, every=True)
    shares = f"{series} IN ({', '.join(wanted['series'])})"
    return runs_with(source, every.relation, shares) - {*wanted["runs"]}


_TIMED = f"{IS_OURS} AND r.status = 'ok' AND r.latency_median_s IS NOT NULL"


@dataclass(frozen=True)
class VersionRecord:
    """The newest measurement of a cell, as far as it tells the version that was measured."""

    run_id: str
    cell_id: str
    backend: Backend
    weights_seed: int | None
    model_id: str | None
    image: str | None
    image_digest: str | None
    job: str | None
    """As JSON."""


def runs_of_cells(source: ArrowSource, cells: Sequence[str]) -> set[str]:
    named = f"r.cell_id IN ({', '.join(map(text, cells[:_AT_ONCE]))})"
    return runs_with(source, "benchmark_results", f"{_TIMED} AND {named}")


def version_records(
    source: ArrowSource, run_id: str | None, cells: Sequence[str]
) -> Iterator[VersionRecord]:
    """The newest measurement of each of these cells that a run has; of any run if none is named."""
    of_run = f"r.run_id = {text(run_id)}" if run_id else "true"
    for start in range(0, len(cells), _AT_ONCE):
        names = ", ".join(map(text, cells[start : start + _AT_ONCE]))
        table = source.arrow(f"""
            SELECT r.run_id, r.cell_id, r.backend, r.weights_seed, r.model_id,
                e.image, e.image_digest, j.job
            FROM benchmark_results r
            LEFT JOIN environments e USING (environment_id)
            LEFT JOIN replay_jobs j ON j.result_id = r.result_id
            WHERE {_TIMED} AND {of_run} AND r.cell_id IN ({names})
            QUALIFY row_number() OVER (
                PARTITION BY r.cell_id ORDER BY r.recorded_at DESC, r.result_id DESC) = 1
        """)
        yield from (VersionRecord(**row) for row in table.to_pylist())
