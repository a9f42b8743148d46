"""Time to merge 2,000 one-row record files, against DuckDB's own bulk read of them.

The baseline is `CREATE TABLE AS SELECT * FROM read_parquet(glob)` into a new database file; the
merge makes a new database too. The two take turns, and their medians are compared.
"""

import random
import statistics
import tempfile
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from performance.comparison import compare
from performance.merging import merge, read_in_bulk
from runner.contract.record import MACHINE_FACTS, Record, hardware_id, save_record

FILES = 2_000
ROUNDS = 5
LIMIT = 3.0
DURATIONS = 50
MODELS = ("bert-tiny", "bert-base-uncased", "gpt2", "vit-base")
STARTED = datetime(2026, 1, 1, tzinfo=UTC)


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        records, databases = Path(folder, "results"), Path(folder, "databases")
        records.mkdir()
        databases.mkdir()
        print(f"writing {FILES} record files with {DURATIONS} raw durations each", flush=True)
        write_records(records)
        new = (databases / f"{number}.duckdb" for number in count())
        compare(
            "merge_records",
            lambda: merge(records, next(new), FILES),
            lambda: read_in_bulk(records, next(new)),
            ROUNDS,
            LIMIT,
        ).report("Store.merge", "read_parquet into a table")


def write_records(folder: Path, files: int = FILES) -> None:
    """Records as a run leaves them; seeded, so that each measurement reads the same."""
    chance = random.Random(7)
    for number in range(files):
        save_record(_record(number, chance), folder)


def _record(number: int, chance: random.Random) -> Record:
    durations = [int(chance.lognormvariate(16, 0.1)) for _ in range(DURATIONS)]
    total_s = sum(durations) / 1e9
    model, batch_size = MODELS[number % len(MODELS)], number + 1
    record = Record(
        run_id="20260101-000000-synthetic",
        job_id=f"cpu-{model}-fp32-inference",
        cell_id=f"cpu-{model}-fp32-b{batch_size}-s128-inference",
        recorded_at=STARTED + timedelta(seconds=number),
        model=model,
        family="embedding",
        task="feature-extraction",
        modality="text",
        backend="cpu",
        runtime="torch",
        precision="fp32",
        batch_size=batch_size,
        sequence_length=128,
        mode="inference",
        seed=7,
        profile="quick",
        status="ok",
        proof="proven",
        evidence={"device": "cpu", "dtype": "torch.float32", "grad": "off"},
        iterations=DURATIONS,
        steady_time_s=total_s,
        latency_mean_s=total_s / DURATIONS,
        latency_median_s=statistics.median(durations) / 1e9,
        latency_min_s=min(durations) / 1e9,
        latency_max_s=max(durations) / 1e9,
        throughput=batch_size * DURATIONS / total_s,
        memory_peak_bytes=chance.randrange(10**8, 10**9),
        device_name="Synthetic CPU",
        cpu_model="Synthetic CPU",
        cpu_flags=[f"flag{flag}" for flag in range(100)],
        cpu_affinity=list(range(8)),
        libraries={"torch": "2.13.0", "transformers": "5.0.0", "numpy": "2.3.0"},
        image_labels={"backend": "cpu", "version": "0.1.0"},
        launcher="docker",
        orchestrator_version="0.1.0",
        warmup_durations_ns=durations[:5],
        durations_ns=durations,
    )
    machine = record.model_dump(include=set(MACHINE_FACTS))
    return record.model_copy(update={"hardware_id": hardware_id(machine)})


if __name__ == "__main__":
    main()
