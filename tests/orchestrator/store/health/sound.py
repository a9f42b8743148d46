"""Sound databases, and ways to damage one."""

import csv
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import duckdb

from orchestrator.store.schema.sources import Run
from orchestrator.store.store import Store
from runner.contract.record.files import save_record
from runner.contract.record.record import Record
from tests.support.data import STORE_DATA
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
    files = []
    for record in records:
        folder = results / record.run_id / "records" / record.job_id
        folder.mkdir(parents=True, exist_ok=True)
        files.append(save_record(record, folder))
    return files


def records() -> list[Record]:
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


@dataclass(frozen=True)
class Damage:
    """Statements that do harm, and the name of the check that finds it."""

    check: str
    sql: str
    """With the place `{row}` for the id of the result, where one row is harmed."""
    kind: str = "inference"
    """Of what kind that row must be."""

    def __str__(self) -> str:
        return f"{self.check}: {' '.join(self.sql.split())[:60]}"


def _read(table: str, change: str, check: str, kind: str, group: str) -> tuple[str, Damage]:
    harm = f"UPDATE {table} SET {change} WHERE result_id = '{{row}}'" if table else change
    return group, Damage(check, harm, kind)


with (STORE_DATA / "damages.csv").open(encoding="utf-8", newline="") as _file:
    _DAMAGES = [_read(**row) for row in csv.DictReader(_file)]
OF_ROWS = tuple(damage for group, damage in _DAMAGES if not group)
"""Each harms one result, so that all may be done to one database."""
TOGETHER = tuple(
    tuple(damage for _, damage in damages)
    for group, damages in groupby(_DAMAGES, key=itemgetter(0))
    if group
)
"""Each harms the whole database; those of one group can be done to one database."""
OF_ALL = tuple(damage for group in TOGETHER for damage in group)


def harm(database: Path, sql: str) -> None:
    """Change a database as somebody with a DuckDB client may."""
    with duckdb.connect(database) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(sql)


def a_database_of_rows_to_harm(database: Path, results: Path) -> Mapping[Damage, str]:
    """A sound database with one row for each damage of a row: its result id."""
    records = {
        damage: KINDS.get(damage.kind, KINDS["inference"])(size)
        for size, damage in enumerate(OF_ROWS, start=1)
    }
    with Store.open(database) as store:
        store.merge(
            saved(results, list(records.values())), RUN.model_copy(update={"planned": None})
        )
    rows = {damage: f"{record.run_id}/{record.cell_id}" for damage, record in records.items()}
    for damage, row in rows.items():
        if damage.kind == "imported":
            rows[damage] = f"{IMPORTED}-{records[damage].batch_size}"
            import_like(database, row, rows[damage])
    return rows


def harm_every_row(database: Path, rows: Mapping[Damage, str]) -> None:
    harm(database, ";".join(damage.sql.format(row=row) for damage, row in rows.items()))
