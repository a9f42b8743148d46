"""The documented example of every mode and scenario, from the file to the database."""

import shutil

import pytest

from orchestrator.store.records.validate import read_record
from orchestrator.store.store import Store
from runner.contract.record.record import Record
from tests.conftest import ROOT
from tests.support.workplace import Workplace

pytestmark = pytest.mark.slow

EXAMPLE = ROOT / "docs/examples/every-mode.yaml"
SHORT = (
    *("axes.model=t5-micro", "axes.sequence_length=8", "axes.new_tokens=3"),
    "axes.target_qps=20",
    *("measure.warmup_max_duration=200ms", "measure.min_duration=0s"),
    *("measure.iterations=1", "measure.max_duration=300ms", "axes.workers=1"),
)
ALWAYS = (
    *("grade", "doubts", "noise_score", "noise_kernel_spread_before", "load_average_1m"),
    *("clock_resolution_s", "harness_overhead_s", "garbage_collection", "timed_region"),
    *("iterations", "rounds", "throughput", "latency_median_s", "latency_mad_s", "outliers"),
    *("percentile_iterations_needed", "durations_ns", "memory_peak_bytes", "memory_method"),
    *("memory_load_peak_bytes", "energy_method", "evidence", "threads", "cpu_affinity", "job"),
    *("correct", "difference_max_abs", "difference_relative", "cosine_similarity", "tolerance"),
)
OWN = {
    "generation": ("time_to_first_token_mean_s", "decode_throughput", "token_agreement"),
    "training": ("forward_mean_s", "loss_mean_s", "backward_mean_s", "optimizer_mean_s"),
    "startup": (
        "startup_warm_import_median_s",
        "startup_warm_weights_median_s",
        "concurrent_speedup",
    ),
    "inference-offline": ("search",),
    "inference-server-q20": ("achieved_qps", "service_median_s"),
}


def test_every_mode_and_scenario_leaves_a_proven_and_correct_record(user: Workplace) -> None:
    shutil.copy(EXAMPLE, user.folder / "matrix.yaml")
    options = ["--select", "!*-peak-*", *(f"--set={change}" for change in SHORT)]
    done = user.do("run", "matrix.yaml", "--launcher", "process", *options)
    assert done.returncode == 0, done.stderr
    records = [read_record(path) for path in user.records()]
    assert len(records) == 6
    for record in records:
        assert (record.status, record.proof, record.correct) == ("ok", "proven", True)
        lacking = [name for name in (*ALWAYS, *_own(record)) if getattr(record, name) is None]
        assert lacking == []
    with Store.open_readonly(user.folder / "results/benchmarks.duckdb") as store:
        assert len(store.results(user.run_folder.name)) == 6


def _own(record: Record) -> tuple[str, ...]:
    """The columns that only the mode and scenario of this record fill."""
    return next((names for ending, names in OWN.items() if record.cell_id.endswith(ending)), ())
