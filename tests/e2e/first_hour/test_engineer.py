"""An engineer has the results of `make run`: two commands say which runtime, precision and batch.

The question: PyTorch or OpenVINO, int8 or fp32, which batch, and what does the fastest cost in
correctness and memory?
"""

import re
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest

from orchestrator.screen.words.records import record_words
from orchestrator.store.store import Store
from runner.contract.record.files import save_record
from tests.support.records import a_record
from tests.support.workplace import Workplace

STYLE = re.compile(r"\x1b\[\d*m")
RUN = "20261123-080000-0001"
MEDIANS_S = {
    ("torch", "fp32"): 0.020,
    ("torch", "int8"): 0.012,
    ("openvino", "fp32"): 0.009,
    ("openvino", "int8"): 0.004,
}


Key = tuple[str, str]


def measured(folder: Path, grades: Mapping[Key, str]) -> Workplace:
    """A folder as `make run` leaves it: one run, merged; grades other than A by runtime."""
    records = folder / "results" / RUN / "records"
    records.mkdir(parents=True)
    for (runtime, precision), batch in product(MEDIANS_S, (1, 8)):
        record = a_record(
            run_id=RUN,
            backend="cpu" if runtime == "torch" else "openvino",
            runtime=runtime,
            precision=precision,
            batch_size=batch,
            latency_median_s=MEDIANS_S[runtime, precision] * (1 if batch == 1 else 6),
            difference_relative=0.048 if precision == "int8" else 1e-6,
            memory_peak_bytes=(500 if runtime == "torch" else 300) * 10**6,
            grade=grades.get((runtime, precision), "A"),
        )
        save_record(record, records)
    with Store.open(folder / "results" / "benchmarks.duckdb") as store:
        store.merge([records], words=record_words)
    return Workplace(folder, "process")


@pytest.fixture(scope="module")
def engineer(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    """A folder with results that can all be quoted. Nobody changes it."""
    return measured(tmp_path_factory.mktemp("engineer"), {})


def test_one_command_says_which_is_fastest_and_what_it_costs(engineer: Workplace) -> None:
    shown = engineer.do("status", "last")
    assert shown.returncode == 0, shown.stderr
    (fastest,) = (line for line in shown.stdout.splitlines() if line.startswith("fastest:"))
    assert fastest.startswith("fastest: openvino int8 batch 8: 3 ms a sample, 1.33 (")
    assert "times as fast as torch fp32 batch 8" in fastest
    assert "4.8 %" in fastest, "what it costs in correctness"
    assert "MB" in fastest, "what it costs in memory"
    assert "shortest query: openvino int8 batch 1: 4 ms" in shown.stdout


def test_a_second_command_explains_its_words(engineer: Workplace) -> None:
    columns = engineer.do("status", "last").stdout.splitlines()[1]
    for word in ("grade", "± %", "samples/s", "peak MB", "off by %", "precision", "runtime"):
        assert word in columns
        explained = engineer.do("explain", word)
        assert (explained.returncode, len(explained.stdout.splitlines())) == (0, 4)


def test_the_answer_fits_a_terminal(engineer: Workplace) -> None:
    shown = engineer.show(80, "status", "last").stdout
    assert "fastest: " in shown
    assert all(len(line) <= 80 for line in STYLE.sub("", shown).splitlines())


def test_what_cannot_be_quoted_is_not_the_answer(tmp_path: Path) -> None:
    engineer = measured(tmp_path, grades={("openvino", "int8"): "D"})
    shown = engineer.do("status", "last").stdout
    assert "fastest: openvino fp32 batch 8" in shown
    assert "fastest: openvino int8" not in shown
    assert "D" in shown


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.serial
def test_one_command_measures_and_answers(tmp_path: Path) -> None:
    user = Workplace(tmp_path, "process")
    done = user.do(
        *("bench", "--model", "bert-micro", "--backend", "cpu", "--runtime", "torch,onnxruntime"),
        *("--batch-sizes", "1", "--iterations", "5", "--launcher", "process"),
        *("--set", "measure.min_duration=0s", "--set", "measure.max_duration=1s"),
    )
    assert done.returncode == 0, done.stderr
    answers = ("fastest: ", "undecided", "measure again", "grade D")
    assert any(answer in done.stdout for answer in answers), done.stdout
