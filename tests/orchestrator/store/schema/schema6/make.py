"""Makes a database of schema 6 and its records; run it with the code that still wrote schema 6.

PYTHONPATH=<checkout of b9342c43> python tests/orchestrator/store/schema/schema6/make.py FOLDER
"""

import lzma
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from orchestrator.store import Run, Store
from orchestrator.store.schema.tables import STORE_VERSION
from runner.contract.cell import Cell
from runner.contract.job import PROFILES, Job, Limits, Provenance
from runner.contract.models import find
from runner.contract.record import SHARED_FACTS, Outcome, Record, hardware_id
from runner.contract.record.files import to_table

BEGAN = datetime(2026, 11, 20, 9, 0, 0, tzinfo=UTC)
DIGEST = "sha256:" + "c0ffee" * 10 + "beef"
GRAPH = "sha256:" + "12345678" * 8
HOSTS: dict[str, dict[str, Any]] = {
    "alpha": {
        "device_name": "Example CPU",
        "cpu_model": "Example CPU",
        "cpu_flags": ["avx2", "fma"],
        "cpu_cores_physical": 8,
        "memory_total_bytes": 64_000_000_000,
        "machine": "x86_64",
        "kernel": "6.12.0",
    },
    "beta": {
        "device_name": "Example Accelerator",
        "cpu_model": "Example Arm",
        "cpu_cores_physical": 64,
        "machine": "aarch64",
        "kernel": "6.8.0-größer",
    },
}
ENDING = ("status", "reason")
LIBRARIES = {"torch": "2.13.0", "transformers": "5.0.0"}
TIMED: dict[str, Any] = {
    "status": "ok",
    "proof": "proven",
    "evidence": {"device": "cpu", "dtype": "torch.float32"},
    "correct": True,
    "grade": "A",
    "grade_reasons": [],
    "iterations": 3,
    "rounds": 1,
    "warmup_durations_ns": [5_000_000, 3_000_000],
    "durations_ns": [2_000_000, 3_000_000, 4_000_000],
    "latency_median_s": 0.003,
    "latency_median_low_s": 0.002,
    "latency_median_high_s": 0.004,
    "latency_precision": 0.002 / 2 / 0.003,
    "latency_mean_s": 0.003,
    "throughput": 333.25,
    "memory_peak_bytes": 300_000_000,
}
OUTCOMES: list[tuple[str, str, str, dict[str, Any], dict[str, Any]]] = [
    ("alpha", "run-a", "process", {}, TIMED),
    ("alpha", "run-a", "process", {"batch_size": 8}, TIMED | {"libraries_reversed": True}),
    (
        "alpha",
        "run-a",
        "process",
        {"model": "gpt2", "mode": "generation", "new_tokens": 4},
        TIMED | {"part_durations_ns": {"first_token": [1, 2, 3], "output_token": [4, 5]}},
    ),
    (
        "alpha",
        "run-a",
        "docker",
        {"runtime": "onnxruntime"},
        TIMED
        | {
            "graph": "bert-tiny-0123456789abcdef/dynamic",
            "graph_sha256": GRAPH,
            "graph_remedy": "dynamic shapes",
            "graph_difference_relative": 1e-7,
        },
    ),
    (
        "beta",
        "run-b",
        "docker",
        {"backend": "cuda"},
        TIMED | {"correct": False, "proof": "partial"},
    ),
    ("beta", "run-b", "docker", {"batch_size": 64}, {"status": "failed", "reason": "It's broken."}),
    (
        "beta",
        "run-b",
        "docker",
        {"batch_size": 1024},
        {"status": "out_of_memory", "reason": "would need 9 TiB", "predicted": True},
    ),
    ("beta", "run-b", "docker", {"precision": "int8"}, {"status": "unsupported", "reason": "no"}),
    ("beta", "run-b", "docker", {"batch_size": 2}, {"status": "timeout", "reason": "too long"}),
]


def record(number: int, host: str, run_id: str, launcher: str, **given: dict[str, Any]) -> Record:
    """What that host's runner wrote of the cell."""
    cell = Cell(**{**_CELL, **given["cell"]})
    in_image = {
        "image": "accelmatrix-cpu:0.1.0",
        "image_digest": DIGEST,
        "image_labels": {"org.accelmatrix.version": "0.1.0", "org.accelmatrix.backend": "cpu"},
    }
    job = Job(
        run_id=run_id,
        id=cell.job_id,
        model=find(cell.model),
        cells=(cell,),
        measure=PROFILES["quick"],
        limits=Limits(),
        seed=7,
        provenance=Provenance(
            launcher=launcher,
            hostname=host,
            git_commit="f00d" * 10,
            orchestrator_version="0.1.0",
            **(in_image if launcher == "docker" else {}),
        ),
    )
    outcome = dict(given["outcome"])
    names = list(LIBRARIES)[:: -1 if outcome.pop("libraries_reversed", False) else 1]
    around = {**HOSTS[host], "libraries": {name: LIBRARIES[name] for name in names}}
    facts = {
        "operating_system": "Example OS",
        "python_version": "3.11.9",
        "runner_version": "0.1.0",
    }
    ending = Outcome(**{name: outcome.pop(name) for name in ENDING if name in outcome})
    made = Record.of(job, cell, ending, {**facts, **around, **outcome})
    weights = {"weights": "pretrained", "weights_revision": "0" * 40} if number == 0 else {}
    machine = {"hardware_id": hardware_id(made.model_dump(mode="json", include=set(SHARED_FACTS)))}
    when = {"recorded_at": BEGAN + timedelta(minutes=number)}
    return made.model_copy(update={**machine, **when, **weights})


_CELL = {
    "model": "bert-tiny",
    "backend": "cpu",
    "runtime": "torch",
    "precision": "fp32",
    "batch_size": 1,
    "sequence_length": 128,
    "mode": "inference",
}


def main(folder: Path) -> None:
    """Leave the database and its records in the folder, both compressed."""
    assert STORE_VERSION == 6, "run it with the code of schema 6"
    records = [
        record(number, host, run_id, launcher, cell=cell, outcome=outcome)
        for number, (host, run_id, launcher, cell, outcome) in enumerate(OUTCOMES)
    ]
    path, database = folder / "records.parquet", folder / "benchmarks.duckdb"
    pq.write_table(to_table(records), path, compression="none")
    described = Run(
        run_id="run-a",
        started_at=BEGAN,
        finished_at=BEGAN + timedelta(hours=1),
        matrix="version: 1\n",
        matrix_path="matrix.yaml",
        command="orchestrator run matrix.yaml",
        launchers=("process", "docker"),
        seed=7,
        planned=4,
        git_commit="f00d" * 10,
        orchestrator_version="0.1.0",
        hostname="alpha",
    )
    with Store.open(database) as store:
        store.merge([path], described).require_complete()
    for made in (database, path):
        made.with_name(f"{made.name}.xz").write_bytes(lzma.compress(made.read_bytes(), preset=9))
        made.unlink()
    database.with_name(f"{database.name}.lock").unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
