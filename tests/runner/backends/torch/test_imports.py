"""Importing what all models share: transformers' folder of models is read once, not twice."""

import subprocess
import sys

import pytest

from runner.contract.job import Job
from tests.support.tiny_models import tiny_decoder, torch_job

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
