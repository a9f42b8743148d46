"""The README's walk from a clone to a prediction, on results as `make run` leaves them."""

import shlex
import shutil
from pathlib import Path

import pytest

from runner.contract.models import find
from runner.contract.record.record import Record
from tests.conftest import ROOT
from tests.docs.pages import README
from tests.support.command_line import call
from tests.support.databases import write_records
from tests.support.records import a_record

FIRST = "orchestrator predict train"
PEAKS = {"peak_flops_per_s": 1e11, "peak_bytes_per_s": 1e10}
PATHS = (("cpu", "torch", 1.0), ("cpu", "onnxruntime", 0.6), ("openvino", "openvino", 0.4))


def walk() -> list[str]:
    """The commands of the walk, from its training on."""
    (block,) = [one.text for one in README.blocks("sh") if FIRST in one.text]
    lines = [line.partition("#")[0].strip() for line in block.splitlines()]
    assert lines[:2] == ["make run", ". .venv/bin/activate"]
    assert lines[2] == FIRST
    return lines[2:]


def results() -> list[Record]:
    """Results of the models of `matrix.yaml`."""
    return [
        a_record(
            model=model,
            batch_size=batch,
            sequence_length=128 if model == "bert-tiny" else None,
            backend=backend,
            runtime=runtime,
            latency_median_s=speed * 1e-3 * (1 + 2 * batch),
            model_spec=find(model).model_dump_json(),
            **PEAKS,
        )
        for model in ("bert-tiny", "vit-tiny")
        for backend, runtime, speed in PATHS
        for batch in (1, 4)
    ]


@pytest.mark.slow
def test_every_step_of_the_walk_answers(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    write_records(tmp_path / "results", results())
    shutil.copy(ROOT / "matrix.yaml", tmp_path)
    for line in walk():
        program, *words = shlex.split(line)
        assert program == "orchestrator"
        done = call(*words, folder=tmp_path, environment={})
        assert done.returncode == 0, f"{line}: {done.stderr}"
        assert done.stdout
    page = (tmp_path / "results" / "reports" / "prediction.html").read_text("utf-8")
    assert "Predictions against measurements" in page
