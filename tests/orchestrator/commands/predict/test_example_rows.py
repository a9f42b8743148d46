"""The results that predictors learn from."""

from pathlib import Path

import pytest

from analysis.predict.examples.example_rows import example_rows
from orchestrator.commands.predict.training import train_predictor
from orchestrator.commands.predict.words import trained_sheet
from orchestrator.store.store import Store
from runner.contract.models import find
from tests.support.databases import write_records
from tests.support.records import a_record
from tests.support.verdicts import RUN

KNOWN = {
    "model_spec": find("bert-tiny").model_dump_json(),
    "peak_flops_per_s": 1e11,
    "peak_bytes_per_s": 1e10,
}


@pytest.mark.parametrize(
    ("results", "grades", "left_out"),
    [
        ([{"grade": "D"}], ["D"], {}),
        ([{"grade": "D", "batch_size": 4}, {"grade": "C"}], ["C", "D"], {}),
        (
            [{"grade": "D"}, {"grade": "A", "run_id": RUN}],
            ["A"],
            {"it is of grade D, and its cell has a better result": 1},
        ),
    ],
)
def test_grade_d_is_learned_from_where_its_cell_has_nothing_better(
    tmp_path: Path, results: list[dict[str, object]], grades: list[str], left_out: dict[str, int]
) -> None:
    records = [a_record(**KNOWN, **changes) for changes in results]
    with Store.open_readonly(write_records(tmp_path, records)) as store:
        rows = example_rows(store, imported=False)
    assert sorted(row["grade"] for row in rows.rows) == grades
    assert rows.left_out == left_out


def test_training_says_how_many_results_are_of_grade_d(tmp_path: Path) -> None:
    records = [
        a_record(**KNOWN, batch_size=size, grade="D" if size < 4 else "B")
        for size in (1, 2, 4, 8, 16, 32)
    ]
    trained = train_predictor(write_records(tmp_path, records), "ours", lambda _: None)
    assert trained.manifest.doubtful == 2
    text = "\n".join(trained_sheet(trained, 1.0).tables[0].notes)
    assert "2 results of grade D among these" in text
