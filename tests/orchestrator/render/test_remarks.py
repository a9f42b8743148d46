"""Each remark is said once, whatever number of cells it holds for."""

from orchestrator.render.remarks import remarks
from orchestrator.store import ResultRow
from tests.rows import a_failed_row, a_row


def said(*rows: ResultRow) -> list[str]:
    return list(remarks(rows))


def test_a_sound_result_needs_no_remark() -> None:
    assert said(a_row("a"), a_row("b")) == []


def test_a_failure_says_why() -> None:
    assert said(a_row("a"), a_failed_row("b", "lost", "died")) == ["b: lost: died"]


def test_the_same_reason_for_many_cells_is_one_line() -> None:
    rows = [a_row(str(number), grade_reasons=["governor is powersave: …"]) for number in range(16)]
    assert said(*rows) == ["16 of 16 cells: governor is powersave: …"]
    failed = [a_failed_row(name, "unavailable", "no image") for name in ("x", "y")]
    assert said(*rows[:1], *failed) == [
        "0: governor is powersave: …",
        "2 of 3 cells: unavailable: no image",
    ]


def test_reasons_that_differ_in_numbers_alone_are_one_line_with_an_example() -> None:
    rows = [
        a_row(name, grade_reasons=[f"cv {spread} %: measure longer"])
        for name, spread in (("a", "18"), ("b", "20.5"), ("c", "1,000"))
    ]
    assert said(*rows) == ["3 of 3 cells, such as a: cv 18 %: measure longer"]


def test_different_reasons_stay_apart() -> None:
    rows = [a_row("a", grade_reasons=["cv 18 %: …", "drift 3 %: …"]), a_row("b")]
    assert said(*rows) == ["a: cv 18 %: …", "a: drift 3 %: …"]


def test_wrong_outputs_are_named_and_what_was_not_verified_too() -> None:
    wrong = a_row("a", correct=False, correct_reason="relative difference 0.3 beyond 0.01")
    unknown = a_row("b", correct=None, correct_reason="no reference: killed")
    assert said(wrong, unknown) == [
        "a: not correct, so views leave it out: relative difference 0.3 beyond 0.01",
        "b: no reference: killed",
    ]
