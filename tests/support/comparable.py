"""One small database of results that can be compared, and some that cannot."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.screen.words.records import record_words
from orchestrator.store.schema.sources import Origin
from orchestrator.store.store import Store
from runner.contract.record.files import arrow_schema, save_record
from runner.contract.record.record import Record
from tests.support.records import RECORDED_AT, a_failure, a_record

FIRST, SECOND, IMPORT = "20261121-120000-aaaa", "20261122-120000-bbbb", "import-timm-1"
_LATER = {"run_id": SECOND, "recorded_at": RECORDED_AT + timedelta(days=1)}
_LAUNCHES = {
    "durations_ns": [9_000_000, 11_000_000, 10_000_000, 10_000_000, 10_400_000, 10_600_000],
    "round_iterations": [2, 2, 2],
    "rounds": 3,
    "latency_median_s": 0.0102,
    "latency_median_low_s": 0.0098,
    "latency_median_high_s": 0.0106,
    "latency_precision": 0.0004 / 0.0102,
}
_ELSEWHERE = {"hostname": "other-host", "cpu_model": "Other CPU", "device_name": "Other CPU"}
_TIMM = {
    "run_id": IMPORT,
    "model": "resnet18",
    "sequence_length": None,
    "proof": "none",
    "grade": None,
}


def write_comparable(folder: Path) -> Path:
    """Write two runs of ours and an import, and merge them into a database."""
    own = [
        _timed(0.010, **_LAUNCHES),
        _timed(0.008, runtime="onnxruntime"),
        _timed(0.005, backend="openvino", runtime="openvino"),
        _timed(0.020, batch_size=4),
        _timed(0.006, precision="int8", correct=False),
        _timed(0.007, precision="bf16", proof="partial"),
        _timed(0.012, batch_size=2, **_ELSEWHERE),
        a_failure("failed", "out of luck", run_id=FIRST, batch_size=8),
        _timed(0.015, libraries={"torch": "2.14.0", "transformers": "5.0.0"}, **_LATER),
        _timed(0.020, batch_size=8, **_LATER),
    ]
    records = folder / "records"
    for number, record in enumerate(own):
        (records / str(number)).mkdir(parents=True)
        save_record(record, records / str(number))
    theirs = [(0.004, "fp32", False), (0.002, "fp16", False), (0.001, "int8", True)]
    for seconds, precision, simulated in theirs:
        record = _timed(seconds, **_TIMM, precision=precision)
        path = records / f"{precision}.parquet"
        save_foreign(record, path, source="timm", simulated=simulated)
    database = folder / "benchmarks.duckdb"
    with Store.open(database) as store:
        store.merge([records], words=record_words).require_complete()
    return database


def _timed(seconds: float, **changes: Any) -> Any:
    """A record of one calibrated process whose median is so long, unless it says otherwise."""
    usual = {
        "run_id": FIRST,
        "latency_median_s": seconds,
        "process_spread": 0.01,
        "process_spread_processes": 10,
        "process_spread_degrees": 9.0,
        "effective_iterations": 3.0,
    }
    return a_record(**usual | changes)


def save_foreign(record: Record, path: Path, **origin: Any) -> None:
    """Write a record as an import does, with where it is from."""
    source = Origin(source_measured_at=RECORDED_AT, **origin).model_dump()
    schema = pa.schema([*arrow_schema(), *arrow_schema(Origin)])
    pq.write_table(pa.Table.from_pylist([record.model_dump() | source], schema), path)
