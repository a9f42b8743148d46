"""The torch backend, and what it imports."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch

from orchestrator.store.records.validate import read_record
from runner.backends.torch.backend import open_session
from runner.contract.errors import Unsupported
from runner.contract.job import Job
from runner.inputs import synthesise
from runner.job.harness import Harness
from tests.support.fakes import KeptProgress
from tests.support.tiny_models import DECODER, tiny, tiny_decoder, torch_job
from tests.support.words import raises_words


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model_type": "no-such-type"}, "transformers cannot build tiny"),
        ({**DECODER, "n_laier": 1}, "gpt2 has no n_laier in its config"),
    ],
)
def test_a_config_unknown_to_transformers_is_unsupported(
    config: dict[str, Any], message: str
) -> None:
    with raises_words(Unsupported, match=message):
        open_session(torch_job(tiny("AutoModelForCausalLM", config)), threads=1)


def test_outputs_are_checked_however_they_are_nested() -> None:
    model = tiny_decoder().model_copy(update={"forward": {"return_dict": False}})
    job = torch_job(model)
    with closing(open_session(job, threads=1)) as session:
        assert session.all_finite(session.bind(job.cells[0], synthesise(model, job.cells[0], 0))())
        assert not session.all_finite((torch.ones(1), [torch.tensor([float("nan")])]))
        last_is_infinite = torch.ones(3 << 20).index_fill(
            0, torch.tensor([(3 << 20) - 1]), float("inf")
        )
        assert not session.all_finite(last_is_infinite)
        with raises_words(Unsupported, match="no tensor that could be checked"):
            session.all_finite(())


COMMON = {
    *("parameters", "device_name", "evidence", "import_time_s", "load_time_s", "threads"),
    *("interop_threads", "libraries", "timed_region", "harness_overhead_s", "first_latency_s"),
    *("latency_median_s", "throughput", "durations_ns", "memory_peak_bytes", "grade"),
}
GENERATION = {
    *("time_to_first_token_median_s", "time_per_output_token_median_s", "decode_throughput"),
    *("token_throughput", "part_durations_ns"),
}
TRAINING = {
    *("forward_median_s", "loss_median_s", "backward_median_s", "optimizer_median_s"),
    *("training_loss_first", "training_loss_last", "part_durations_ns"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("cell", "own"), [
    ({"mode": "inference"}, set()),
    ({"mode": "generation", "new_tokens": 3}, GENERATION),
    ({"mode": "training"}, TRAINING),
], ids=["inference", "generation", "training"])  # fmt: skip
def test_a_record_fills_the_columns_of_its_mode(
    tmp_path: Path, cell: dict[str, Any], own: set[str]
) -> None:
    job = torch_job(tiny_decoder(), **cell)
    brief = job.measure.model_copy(update={"max_s": 0.2})
    Harness(job.model_copy(update={"measure": brief}), tmp_path, KeptProgress()).run()
    record = read_record(tmp_path / f"{job.cells[0].id}.parquet")
    filled = {name for name, value in record if value is not None}
    assert (record.status, record.reason_code, record.proof) == ("ok", None, "proven")
    assert filled >= COMMON | own
    assert not filled & ((GENERATION | TRAINING) - own)


OPEN = """
import sys

reads = []

def count(event, arguments):
    if event == "os.scandir" and str(arguments[0]).endswith("transformers/models"):
        reads.append(arguments)

sys.addaudithook(count)

import runner.backends.torch.backend as backend
from runner.contract.job import Job

backend.open_session(Job.model_validate_json(sys.argv[1]), threads=1)
print(len(reads))
import transformers.models as taken
from transformers.utils import import_utils

import_utils.create_import_structure_from_path.cache_clear()
import_utils.define_import_structure.cache_clear()
structure = import_utils.define_import_structure(taken.__file__)
assert len(reads) == int(sys.argv[2]) + 1, reads
read = import_utils._LazyModule("read", taken.__file__, structure)
assert dir(taken) == dir(read)
assert taken._class_to_module == read._class_to_module
assert taken._object_missing_backend == read._object_missing_backend
"""


@pytest.mark.representatives(1)
@pytest.mark.slow
@pytest.mark.parametrize(("mode", "reads"), [("inference", 1), ("startup", 2)])
def test_the_folder_is_read_once_unless_the_start_is_timed(mode: str, reads: int) -> None:
    job: Job = torch_job(tiny_decoder(), mode=mode)
    arguments = [job.model_dump_json(), str(reads)]
    done = subprocess.run(
        [sys.executable, "-c", OPEN, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(reads)
