"""Examples of a database: measured results with the counted work behind each."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from analysis.predict.examples.machines import MachinePeaks, machine_peaks
from analysis.predict.examples.placements import (
    PREDICTED_MODES,
    PREDICTION_TARGETS,
    ExampleRows,
    Placement,
    architecture_in,
    architecture_of,
    plain_name,
)
from analysis.predict.examples.work import (
    SampleWork,
    cell_of,
    counts_of_cell,
    counts_of_sample,
    told_work,
)
from analysis.results.series import SETTINGS
from analysis.results.source import ArrowSource, text
from analysis.statistics.ratios import PROMISES
from runner.contract.axes import AXIS_NAMES, SIZE_AXES
from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.models import ModelSpec
from runner.contract.models.work import Polynomials, catalogued_polynomials

_NO_AXES = ("target_qps", "slo_ms", "threads", "workers")
_AXES = tuple(name for name in AXIS_NAMES if name not in _NO_AXES)
"""The axes of cells; what a record calls `threads` is what the runtime used."""
_BATCH, *_LENGTHS, _NEW_TOKENS = SIZE_AXES
"""The sizes of a sample stand between the number of samples and that of tokens to generate."""
_FACTS = (
    *(*_AXES, "result_id", "source", "model_id"),
    *("hardware", "hardware_id", "threads", "parameters", "grade"),
)
_VALUES = (
    *("throughput", "latency_median_s", "latency_mean_s", "memory_peak_bytes"),
    "energy_per_sample_joules",
)
_MODES = ", ".join(map(text, PREDICTED_MODES))
_VIEWS = {"benchmark_performance": "p.scenario = 'single_stream'", "imported_results": "true"}
_LIBRARIES = {"torch_compile": "torch"}
CountsOf = Callable[[ModelSpec], Polynomials | None]
"""Gives the polynomials of a model that is not of the catalogue, as far as a job counted it."""
_OURS = "SELECT run_id FROM benchmark_performance WHERE scenario = 'single_stream' AND mode IN"
_THEIRS = "SELECT run_id FROM imported_results WHERE coalesce(mode, 'inference') IN"
_MOST_NAMED = 500
"""Cells that a question names by their ids; more are named by their models."""


def example_rows(
    source: ArrowSource, *, imported: bool, counts_of: CountsOf = catalogued_polynomials
) -> ExampleRows:
    """The results that predictors learn from; those of one model and size share counted work.

    One of grade D tells an order of size, so it counts where no better one of its cell is there.
    """
    models = _models(source)
    polynomials = {name: counts_of(model) for name, model in models.items()}
    peaks = machine_peaks(source)
    results = [*_results(source, imported=imported)]
    samples = {_sample_key(row): work for row in results if (work := told_work(row))}
    rows, placements, left_out = [], [], Counter[str]()
    for row in results:
        sample, model = samples.get(_sample_key(row)), row["model_id"] or ""
        placement = _placement(row, sample, peaks, models.get(model), polynomials.get(model))
        if isinstance(placement, str):
            left_out[placement] += 1
        else:
            placements.append(placement)
            rows.append(row)
    known = list(zip(rows, placements, strict=True))
    sound = {placement for row, placement in known if row["grade"] in PROMISES}
    kept = [(row, one) for row, one in known if row["grade"] != "D" or one not in sound]
    if beside := len(known) - len(kept):
        left_out["it is of grade D, and its cell has a better result"] = beside
    return ExampleRows([row for row, _ in kept], [one for _, one in kept], left_out)


def _placement(
    row: Mapping[str, Any],
    sample: SampleWork | None,
    peaks: MachinePeaks,
    model: ModelSpec | None,
    polynomials: Polynomials | None,
) -> Placement | str:
    """The placement of a result; the reason where no example can be made of it."""
    precision, backend = row["precision"], row["backend"]
    if not (precision and backend and row["runtime"] and row["hardware"]):
        return "the file tells no device, backend, runtime or precision"
    counts = counts_of_sample(row, sample) if sample else None
    if not sample and model and polynomials is not None and (cell := cell_of(row)):
        with suppress(Unsupported):
            counts = counts_of_cell(model, cell, polynomials)
    if counts is None:
        return "nobody counted the model's work"
    device = peaks.device(row["hardware"], row["hardware_id"], backend, precision)
    if device is None:
        return "nobody knows the device's peaks"
    name = plain_name(row["model"])
    return Placement(
        model=name,
        architecture=architecture_in(model.config) if model else architecture_of(name),
        device=device,
        backend=backend,
        runtime=row["runtime"],
        precision=precision,
        mode=row["mode"] or "inference",
        software=_software(row),
        batch_size=row[_BATCH],
        length=next((row[name] for name in _LENGTHS if row[name]), None),
        new_tokens=row[_NEW_TOKENS],
        threads=row["threads"],
        counts=counts,
    )


def _results(source: ArrowSource, *, imported: bool) -> Iterator[dict[str, Any]]:
    for view, condition in _VIEWS.items():
        if view == "imported_results" and not imported:
            continue
        facts = ", ".join((*(f"p.{name}" for name in _FACTS), *(f"r.{name}" for name in _VALUES)))
        yield from source.arrow(f"""
            SELECT {facts}, r.settings, r.details, e.libraries
            FROM {view} p JOIN benchmark_results r USING (result_id)
                LEFT JOIN environments e ON e.environment_id = r.environment_id
            WHERE {condition} AND coalesce(p.mode, 'inference') IN ({_MODES})
            ORDER BY p.result_id
        """).to_pylist()


def _models(source: ArrowSource) -> dict[str, ModelSpec]:
    """The models of our own results by their ids; those of other versions may say too little."""
    rows = source.arrow(
        "SELECT model_id, model, model_spec FROM models WHERE model_spec IS NOT NULL"
    )
    models: dict[str, ModelSpec] = {}
    for row in rows.to_pylist():
        with suppress(ValueError):
            labels = {"name": row["model"]}
            models[row["model_id"]] = ModelSpec.of_content(row["model_spec"], labels)
    return models


def _sample_key(row: Mapping[str, Any]) -> tuple[str, int | None]:
    return plain_name(row["model"]), row["image_size"]


def _software(row: Mapping[str, Any]) -> str:
    """The version of the runtime's library, without its last part, and other settings."""
    libraries = dict(row["libraries"] or ())
    library = _LIBRARIES.get(row["runtime"], row["runtime"])
    version = ".".join(libraries.get(library, "").split(".")[:2])
    return " ".join(filter(None, (version, row[SETTINGS])))


def rows_by_run(source: ArrowSource, *, imported: bool) -> dict[str, int]:
    parts = [f"{_OURS} ({_MODES})", *([f"{_THEIRS} ({_MODES})"] if imported else [])]
    table = source.arrow(f"""
        SELECT run_id, count(*) AS rows FROM ({" UNION ALL ".join(parts)})
        GROUP BY run_id ORDER BY run_id
    """)
    return dict(zip(table["run_id"].to_pylist(), table["rows"].to_pylist(), strict=True))


def changed_rows(before: Mapping[str, int], now: Mapping[str, int]) -> tuple[int, int]:
    """The number of rows that came, and of those that went, between two counts of rows by run."""
    changes = [now.get(run, 0) - before.get(run, 0) for run in {*before, *now}]
    return sum(one for one in changes if one > 0), -sum(one for one in changes if one < 0)


def digest_of_rows(rows: ExampleRows) -> str:
    """SHA-256 of the ids and values of all examples, in hex; their order does not matter."""
    columns = [target.column for target in PREDICTION_TARGETS.values()]
    lines = sorted(
        "\t".join([str(row["result_id"]), *(repr(row[column]) for column in columns)])
        for row in rows.rows
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def measured_targets(
    source: ArrowSource, cells: Sequence[tuple[str, Cell]]
) -> dict[int, Mapping[str, float]]:
    """The newest results by target, under the number of each (machine's id, cell) that has some."""
    columns = {name: target.column for name, target in PREDICTION_TARGETS.items()}
    selected = ", ".join(f"r.{column}" for column in columns.values())
    if len(cells) <= _MOST_NAMED:
        condition = f"p.cell_id IN ({_listing(cell.id for _, cell in cells)})"
    else:
        condition = f"p.model IN ({_listing({cell.model for _, cell in cells})})"
    rows = source.arrow(f"""
        SELECT p.hardware_id, p.cell_id, p.model, {selected}
        FROM benchmark_performance p JOIN benchmark_results r USING (result_id)
        WHERE p.hardware_id IN ({_listing({machine for machine, _ in cells})}) AND {condition}
        ORDER BY p.measured_at, p.result_id
    """).to_pylist()
    values = {
        (row["hardware_id"], row["cell_id"]): {
            name: row[column] for name, column in columns.items() if row[column] is not None
        }
        for row in rows
    }
    models = {row["model"] for row in rows}
    return {
        number: known
        for number, (machine, cell) in enumerate(cells)
        if cell.model in models and (known := values.get((machine, cell.id)))
    }


def _listing(words: Iterable[str]) -> str:
    return ", ".join(map(text, words)) or "NULL"
