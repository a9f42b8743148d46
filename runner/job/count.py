"""Jobs that count the arithmetic and memory of their model, without any of its weights."""

from importlib import import_module
from pathlib import Path

from runner.contract.files import save_text
from runner.contract.job import Job
from runner.contract.models.counted import COUNTS_FILE, CountedWork
from runner.measure.phases import garbage_collection_off
from runner.process import Progress


def count_model(job: Job, out: Path, progress: Progress) -> None:
    """Write `counts.json`: the polynomials of the job's model, or the reason why there are none.

    Raises:
        RecordNotSaved: the folder takes no more files.
    """
    progress.phase("load")
    with garbage_collection_off():  # torch comes with it
        counting = import_module("runner.counting")
    counted: CountedWork = counting.count_work(job.model)
    save_text(out / COUNTS_FILE, counted.model_dump_json())
