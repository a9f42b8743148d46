"""What a CI makes of verdicts: the exit code, and which grades are good enough."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from analysis.regressions.judgements import Judgement
from orchestrator.app.results.grades import require_grade
from orchestrator.app.results.selection import SelectionRequest
from orchestrator.app.results.verdicts import RegressionRequest, judge_regressions
from orchestrator.store import Store
from runner.contract.errors import Inconclusive
from runner.contract.record import Grade, save_record
from tests.support.records import RECORDED_AT, a_record
from tests.support.verdicts import BASE, RUN, a_judgement, a_refusal, an_answer

WORSE, BETTER = a_judgement("regression"), a_judgement("improvement", -0.2)
SAME, OPEN = a_judgement("no change", 0.0), a_judgement("inconclusive", 0.04)
REFUSED = a_refusal("another CPU limit: 2.0, now 4.0")


@pytest.mark.parametrize(
    ("judgements", "required", "code"),
    [
        ([WORSE, BETTER, SAME, OPEN, REFUSED], None, 7),
        ([WORSE], "A", 7),
        ([REFUSED], None, 3),
        ([REFUSED], "A", 3),
        ([BETTER, SAME], None, 0),
        ([SAME, OPEN], None, 8),
        ([OPEN], None, 8),
        ([SAME, REFUSED], None, 8),
        ([SAME], "B", 0),
        ([SAME], "A", 8),
    ],
)
def test_the_exit_code_follows_from_the_verdicts(
    judgements: Sequence[Judgement], required: Grade | None, code: int
) -> None:
    assert an_answer(*judgements, require_grade=required).exit_code == code


def require(required: Grade | None, **grades: Grade) -> None:
    where: dict[str, Any] = {"run": "last", "database": Path("results/benchmarks.duckdb")}
    require_grade(grades.items(), required, **where)


def test_a_worse_grade_than_the_required_one_is_named_with_a_remedy() -> None:
    require("C", a="A", b="C")
    require(None, a="D")
    with pytest.raises(
        Inconclusive, match=r"--require-grade C: 1 of 2 results is below it: b \(D\)"
    ) as e:
        require("C", a="C", b="D")
    assert e.value.exit_code == 8
    assert "`orchestrator status last --why`" in (e.value.hint or "")


def test_nothing_is_claimed_of_what_must_not_be_quoted_nor_of_grade_d(tmp_path: Path) -> None:
    files = []
    for day, (run, ms) in enumerate(((BASE, 4.0), (RUN, 8.0))):
        known = {"run_id": run, "recorded_at": RECORDED_AT + timedelta(days=day)}
        timed = {**known, "latency_median_s": ms / 1000}
        for batch, changes in ((1, {"correct": False}), (2, {"grade": "D"})):
            folder = tmp_path / f"{day}-{batch}"
            folder.mkdir()
            files.append(save_record(a_record(**timed, batch_size=batch, **changes), folder))
    with Store.open(tmp_path / "benchmarks.duckdb") as store:
        store.merge(files).require_complete()
    selected = SelectionRequest(tmp_path / "benchmarks.duckdb", unquotable=True)
    answer = judge_regressions(RegressionRequest(selected, BASE, RUN))
    assert answer.exit_code == 8
    assert {one.facts["batch_size"]: one.reason for one in answer.judged} == {
        1: "outputs wrong, so nothing is claimed",
        2: f"this result has grade D: `orchestrator status {RUN} --why` tells why",
    }
