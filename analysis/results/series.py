"""Series, and what values of a metric must agree in beside them to be compared."""

from collections.abc import Mapping
from dataclasses import dataclass

from analysis.results.metrics import Metric
from analysis.results.row import seeks_peak_sql
from analysis.results.source import ArrowSource, text
from runner.contract.axes import AXIS_NAMES

MODEL = ("model_id", "weights", "weights_revision")
"""Columns that tell which model it was, whatever its name."""
WEIGHTS = (*MODEL, "weights_seed")
"""Columns that tell which weights were executed."""
MACHINE = ("hardware_id", "launcher", "timed_region", "threads", "container_cpu_limit")
"""Columns that tell on what, and between which moments, a result was measured."""
SETTINGS = "settings"
"""The column of what an imported file says of how the work was done and no axis takes."""
SERIES = ("source", "cell_id", SETTINGS, *WEIGHTS, *MACHINE)
"""Columns in which the results of one series agree; they may be compared over time."""
ASKED_THREADS = "asked_threads"
"""Threads that a cell's id names; null where the machine decided."""
COMPARED = (
    *("source", *(name for name in AXIS_NAMES if name != "threads"), ASKED_THREADS),
    *(SETTINGS, *WEIGHTS, *MACHINE, "host"),
)
"""Columns in which two results agree that may be compared, but for what they are compared by.

They are those of a series with the axes in the place of the cell's id, which holds them all, and
the host: numbers of two machines are compared only if somebody asks for it."""

_DEVICE = ("hardware_id", "timed_region", "threads", "container_cpu_limit")
DETERMINED: Mapping[str, tuple[str, ...]] = {
    "backend": ("runtime", *_DEVICE),
    "runtime": ("timed_region",),
    "precision": ("timed_region", "training_precision"),
    "model": WEIGHTS,
    "family": ("model", *WEIGHTS),
    "hardware": ("backend", "runtime", *_DEVICE, "host"),
    "hostname": (*_DEVICE, "host"),
    "batch_size": (),
    "sequence_length": (),
    "threads": (ASKED_THREADS, "container_cpu_limit"),
    "workers": (),
    "run": (),
}
"""Properties to compare by, each with the columns that follow from it and may differ too.

The threads of a device are the machine's choice where nobody asked for a number."""

IN_HISTORY = """r.run_id NOT IN (
    SELECT interleaved_with FROM benchmark_results WHERE interleaved_with IS NOT NULL)"""
"""False in SQL where an older version was measured again beside a newer one."""

FOUND = "found"
"""The fact that tells which batch or rate a search found, of metrics of queries; else null."""
SCOPE = "energy_scope"
"""The fact that tells what joules hold, as counters see parts of a machine; else null."""
UNKNOWN_SCOPE = "unknown"
SCOPE_SQL = f"coalesce(r.{SCOPE}, {text(UNKNOWN_SCOPE)})"
"""The expression of that fact, where `r` is a row with the columns of a result."""
COMPARABLE: Mapping[str, str] = {FOUND: "batch or rate that was found", SCOPE: "energy scope"}
"""The facts in which values of a metric agree that may be compared, in words."""


def agreeing_columns(by: str, *, across_hosts: bool = False) -> tuple[str, ...]:
    """The columns in which two results must agree to be compared by this."""
    differing = {by, *DETERMINED[by]}
    if across_hosts:
        differing |= {"host", "hardware_id"}
    return tuple(name for name in COMPARED if name not in differing)


def comparable_sql(metric: Metric) -> Mapping[str, str]:
    """The expressions of `COMPARABLE`, where `r` is a row with the columns of a result."""
    batch_or_rate = f"""CASE WHEN r.scenario = 'offline' THEN 'batch ' || r.batch_size
        WHEN {seeks_peak_sql()} THEN coalesce(format('rate {{:.4g}}', r.peak_qps), 'no rate')
        END"""
    return {
        FOUND: batch_or_rate if metric.is_of_queries else "NULL",
        SCOPE: SCOPE_SQL if metric.is_of_energy else "NULL",
    }


def comparable_columns(metric: Metric) -> str:
    return ", ".join(f"{value} AS {name}" for name, value in comparable_sql(metric).items())


@dataclass(frozen=True)
class AcceptedChange:
    """A step of a series that somebody knows and wants no more verdicts on."""

    run_id: str
    cell_ids: frozenset[str]
    because: str


def accepted_changes(source: ArrowSource) -> tuple[AcceptedChange, ...]:
    """The accepted changes of this database; a run is there once for each reason."""
    sql = """
        SELECT run_id, because, list(cell_id) AS cell_ids FROM accepted_changes
        GROUP BY ALL ORDER BY run_id, because
    """
    return tuple(
        AcceptedChange(row["run_id"], frozenset(row["cell_ids"]), row["because"])
        for row in source.arrow(sql).to_pylist()
    )
