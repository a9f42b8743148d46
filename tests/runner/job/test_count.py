"""A job that counts leaves one small file: polynomials, or the reason why there are none."""

from pathlib import Path

from runner.contract.artifact_keys import COUNTS, fingerprint
from runner.contract.job import Job
from runner.contract.models import ModelSpec, find
from runner.contract.models.counted import COUNTS_FILE, CountedWork, read_counted
from runner.contract.models.work import catalogued_polynomials
from runner.job.prepare import count_model
from tests.support.fakes import KeptProgress
from tests.support.jobs import a_job
from tests.support.tiny_models import torch_cell
from tests.support.words import words_of


def counted(model: ModelSpec, out: Path) -> CountedWork:
    job: Job = a_job([torch_cell(model)], model).model_copy(update={"purpose": "count"})
    progress = KeptProgress()
    count_model(job, out, progress)
    assert [event["phase"] for event in progress.events] == ["load"]
    assert [path.name for path in out.iterdir()] == [COUNTS_FILE]
    return read_counted(out / COUNTS_FILE, model, fingerprint(COUNTS))


def test_it_finds_what_the_catalogue_holds(tmp_path: Path) -> None:
    model = find("bert-micro")
    polynomials = counted(model, tmp_path).polynomials
    assert polynomials.pop("parameters") == {"": model.parameters}
    assert polynomials == catalogued_polynomials(model)


def test_what_cannot_be_built_has_a_reason(tmp_path: Path) -> None:
    odd = find("bert-micro").model_copy(update={"architecture": "NoSuchModel"})
    left = counted(odd, tmp_path)
    assert left.polynomials == {}
    assert str(words_of(left.reason)).startswith("transformers cannot build bert-micro")
