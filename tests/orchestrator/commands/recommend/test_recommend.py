"""`recommend` as a user meets it: answers, files for `run`, refusals."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.matrix import load_matrix
from orchestrator.planning.expand import expand
from tests.support.command_line import call, complains

ASKED = ("recommend", "--model", "bert-tiny", "--database", "benchmarks.duckdb")
OVER_ALL = ("recommend", "--family", "embedding", "--database", "benchmarks.duckdb")


@pytest.fixture(scope="module")
def folder(comparable: Path) -> Path:
    (comparable / "prices.yaml").write_text("currency: EUR\nbackends: {cpu: {per_hour: 0.1}}\n")
    return comparable


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (ASKED, "fastest: openvino fp32 at batch 1 on Example CPU, 5 ms measured; next"),
        ((*OVER_ALL, "--prices", "prices.yaml"), "by cost in EUR per million samples"),
        pytest.param(
            (*ASKED, "--memory", "1GiB"), "largest batch under 1GiB: ", marks=pytest.mark.slow
        ),
        pytest.param(
            (*ASKED, "--slo", "p95<9ms"), "nothing is recommended: of ", marks=pytest.mark.slow
        ),
    ],
)
def test_the_answer_is_a_sentence(folder: Path, words: tuple[str, ...], sentence: str) -> None:
    whole = call(*words, folder=folder, environment={})
    assert whole.returncode == 0, whole.stderr
    assert sentence in whole.stdout
    several = "by speed and memory alone: nothing here knows their quality"
    assert (several in whole.stdout) == ("--family" in words)
    assert "orchestrator predict train" in whole.stdout


def test_json_and_csv_have_every_candidate(folder: Path) -> None:
    document = json.loads(call(*ASKED, "--json", folder=folder, environment={}).stdout)
    first = document["recommended"][0]
    assert first["cell_id"] == "openvino-bert-tiny-fp32-b1-s128-inference"
    assert (first["rank"], first["basis"], first["latency"]) == (1, "measured", 5.0)
    wrong = [one for one in document["left_out"] if one["kind"] == "wrong"]
    assert {one["precision"] for one in wrong} == {"int8", "bf16"}
    text = call(*ASKED, "--format", "csv", folder=folder, environment={}).stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(document["recommended"]) + len(document["left_out"])
    assert rows[0]["latency"] == "5.0"


def test_a_matrix_is_what_run_takes(folder: Path) -> None:
    words = (*ASKED, "--memory", "2GiB", "--output", "best.yaml", "--force")
    done = call(*words, folder=folder, environment={})
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    matrix = load_matrix(folder / "best.yaml")
    cells = expand(matrix).cells
    assert "cpu-bert-tiny-fp32-b8-s128-inference" in {cell.id for cell, _ in cells}
    assert all(reason is None for _, reason in cells)
    assert matrix.limits["cpu"].memory_bytes == 2 << 30
    assert (folder / "best.yaml").read_text().startswith("# chosen by `orchestrator recommend`")


@pytest.mark.representatives(4)
@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (("--slo", "p95<50"), 2, "the limit has no unit"),
        (("--slo-confidence", "95%"), 2, "there is no --slo"),
        (("--slo", "p95<5ms", "--slo-confidence", "195%"), 2, "--slo-confidence"),
        (("--prices", "price.yaml"), 2, "did you mean prices.yaml?"),
        (("--per", "second"), 2, "--per needs --next"),
        (("--slo", "p95<9ms", "--format", "matrix"), 3, "no candidate is left for a matrix"),
        (("--output", "best.txt"), 2, "its name says no format"),
    ],
)
def test_wrong_questions_are_refused(
    folder: Path, words: tuple[str, ...], code: int, complaint: str
) -> None:
    complains(call(*ASKED, *words, folder=folder, environment={}), code, complaint)


WITHOUT_EXTRA = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numpy", "scipy", "lightgbm"):
            raise ImportError(name)
sys.meta_path.insert(0, Missing())
from orchestrator.commands.main import main
main()
"""


@pytest.mark.slow
def test_what_was_measured_is_ranked_without_the_extra(folder: Path) -> None:
    words = (*ASKED, "--slo", "p50<9ms")
    command = [sys.executable, "-c", WITHOUT_EXTRA, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "there is no predictor to ask" in done.stdout
