"""Sound databases: measurements of every mode, failures, and rows that others measured."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

from orchestrator.store.schema.sources import Run
from orchestrator.store.store import Store
from runner.contract.record.files import save_record
from runner.contract.record.record import Record
from tests.support.records import RECORDED_AT, a_failure, a_record

NOW = datetime(2026, 11, 21, 18, 0, 0, tzinfo=UTC)
RUN = Run(
    run_id="described", started_at=RECORDED_AT, planned=6, hostname="example-host", command="run"
)
FIRST = "described/cpu-bert-tiny-fp32-b1-s128-inference"
IMPORTED = "imported/theirs"
_FOREIGN_RESULT = """
    INSERT INTO benchmark_results BY NAME
    SELECT * REPLACE ('{run}' AS run_id, '{cell}' AS cell_id, '{run}/{cell}' AS result_id,
        'timm' AS source, 'none' AS proof, NULL AS evidence, 'half' AS precision)
    FROM benchmark_results WHERE result_id = '{like}'
"""
_FOREIGN_RUN = """
    INSERT INTO benchmark_runs BY NAME
    SELECT 'imported' AS run_id, started_at, true AS described, [] AS launchers
    FROM benchmark_runs LIMIT 1
"""


def a_sound_database(path: Path, results: Path) -> None:
    """Merged from record files below the folder of results; one row is an imported one."""
    with Store.open(path) as store:
        store.merge(saved(results, records()), RUN)
    with duckdb.connect(path) as connection:
        connection.execute(_FOREIGN_RUN)
    import_like(path, FIRST, IMPORTED)


def import_like(path: Path, like: str, result_id: str) -> None:
    """Put a row into the database that others measured, with the numbers of one of ours."""
    run, _, cell = result_id.partition("/")
    with duckdb.connect(path) as connection:
        connection.execute(_FOREIGN_RESULT.format(run=run, cell=cell, like=like))


def saved(results: Path, records: Sequence[Record]) -> list[Path]:
    """The records as files in their runs' folders."""
    files = []
    for record in records:
        folder = results / record.run_id / "records" / record.job_id
        folder.mkdir(parents=True, exist_ok=True)
        files.append(save_record(record, folder))
    return files


def records() -> list[Record]:
    """Records as our runner writes them."""
    return [
        inference(1),
        inference(4),
        generation(1),
        training(1),
        server(1),
        a_failure("lost", "gone", batch_size=2, hardware_id=None, run_id="described"),
        a_record(
            run_id="inferred",
            durations_ns=[2_000_005, 3_000_000],
            recorded_at=RECORDED_AT + timedelta(minutes=5),
        ),
    ]


def inference(size: int) -> Record:
    """The batch decides the durations too, as no two cells measure the same."""
    return a_record(
        run_id="described",
        batch_size=size,
        durations_ns=[2_000_000 + size, 3_000_000, 4_000_000],
        energy_joules=6.0,
        energy_per_sample_joules=2.0 / size,
        energy_method="RAPL",
    )


def generation(size: int) -> Record:
    first = [5_000_000 + size, 5_200_000]
    gaps = [1_000_000, 1_100_000, 1_200_000, 1_300_000]
    per_token = [(gaps[0] + gaps[1]) / 2, (gaps[2] + gaps[3]) / 2]
    durations = [first[0] + gaps[0] + gaps[1], first[1] + gaps[2] + gaps[3]]
    return a_record(
        run_id="described",
        batch_size=size,
        mode="generation",
        new_tokens=3,
        durations_ns=durations,
        part_durations_ns={"first_token": first, "output_token": gaps},
        token_throughput=size * 3 * 2 * 1e9 / sum(durations),
        decode_throughput=size * len(gaps) * 1e9 / sum(gaps),
        **_middles("time_to_first_token", first),
        **_middles("time_per_output_token", per_token),
        **_middles("inter_token_latency", gaps),
    )


def training(size: int) -> Record:
    parts = {"forward": [3_000_000, 3_500_000], "backward": [4_000_000, 4_100_000]}
    return a_record(
        run_id="described",
        batch_size=size,
        mode="training",
        durations_ns=[7_500_000 + size, 8_000_000],
        part_durations_ns=parts,
        **_middles("forward", parts["forward"]),
        **_middles("backward", parts["backward"]),
    )


def server(size: int) -> Record:
    """Queries that waited: the window is longer than the latencies say."""
    return a_record(
        run_id="described",
        batch_size=size,
        scenario="server",
        target_qps=20.0,
        durations_ns=[2_100_000 + size, 2_300_000],
        part_durations_ns={"service": [2_000_000, 2_100_000]},
        service_median_s=2_050_000 / 1e9,
        steady_time_s=0.1,
        throughput=size * 20.0,
        achieved_qps=20.0,
    )


KINDS: Mapping[str, Callable[[int], Record]] = {
    "inference": inference,
    "generation": generation,
    "training": training,
    "server": server,
}


def _middles(prefix: str, durations_ns: Sequence[float]) -> dict[str, float]:
    return {
        f"{prefix}_mean_s": statistics.mean(durations_ns) / 1e9,
        f"{prefix}_median_s": statistics.median(durations_ns) / 1e9,
    }
