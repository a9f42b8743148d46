"""Versions: the image and the job that each cell was measured with, as records name them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.results.source import OWN_SOURCES, ArrowSource, text
from runner.contract.cell import Backend

_AT_ONCE = 5_000
"""Cells that are asked for in one question."""
_OURS = f"r.source IN ({', '.join(map(text, OWN_SOURCES))})"
_TIMED = f"{_OURS} AND r.status = 'ok' AND r.latency_median_s IS NOT NULL"


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
    """The job, as JSON."""


def newest_run_of(source: ArrowSource, cells: Sequence[str]) -> str | None:
    """The id of the newest run that measured one of these cells; None without one."""
    table = source.arrow(f"""
        SELECT r.run_id FROM benchmark_results r JOIN benchmark_runs u USING (run_id)
        WHERE {_TIMED} AND r.cell_id IN ({", ".join(map(text, cells[:_AT_ONCE]))})
        ORDER BY u.started_at DESC, r.run_id DESC LIMIT 1
    """)
    run_ids: list[str] = table.column("run_id").to_pylist()
    return run_ids[0] if run_ids else None


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
