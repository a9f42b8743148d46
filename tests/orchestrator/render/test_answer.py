"""Answers on stdout."""

from pathlib import Path

import pyarrow as pa
import pytest

from orchestrator.errors import MatrixError
from orchestrator.render.answer import print_answer, require_printable, savable_form
from orchestrator.store import WRITERS, Answer

TABLE = pa.table(
    {
        "cell": ["a", "b"],
        "median": [0.8123456, None],
        "reasons": [["noisy"], None],
        "libraries": pa.array([[("torch", "2.13.0")], None], pa.map_(pa.string(), pa.string())),
    }
)


def an_answer() -> Answer:
    return Answer(TABLE.schema, iter(TABLE.to_batches(max_chunksize=1)))


def test_a_table_is_aligned_and_rounded(capsys: pytest.CaptureFixture[str]) -> None:
    print_answer(an_answer(), "table")
    assert capsys.readouterr().out.splitlines() == [
        "cell  median  reasons    libraries",
        'a      0.812  ["noisy"]  {"torch": "2.13.0"}',
        "b          –  –          –",
    ]


@pytest.mark.parametrize("form", WRITERS)
def test_other_formats_are_printed_as_they_are_written(
    form: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    print_answer(an_answer(), form)
    content = capfdbinary.readouterr().out
    assert content.startswith(b"PAR1" if form == "parquet" else (b"cell,", b"[\n", b"| cell |"))


def test_only_bytes_are_kept_from_a_terminal() -> None:
    for form in ("table", "csv", "parquet"):
        require_printable(form)


def test_a_table_is_not_for_files() -> None:
    for form in WRITERS:
        assert savable_form(form, Path("a.txt")) == form
    with pytest.raises(MatrixError, match="tables are for the screen"):
        savable_form("table", Path("a.csv"))


@pytest.mark.parametrize(("name", "form"), [("a.csv", "csv"), ("a.PARQUET", "parquet")])
def test_a_name_says_the_format(name: str, form: str) -> None:
    assert savable_form(None, Path(name)) == form


@pytest.mark.parametrize(("name", "said"), [("a.txt", "'.txt' says"), ("answer", "answer: says")])
def test_a_name_that_says_no_format_is_refused(name: str, said: str) -> None:
    with pytest.raises(MatrixError, match=f"{said} no format.*csv, .json, .*.parquet") as caught:
        savable_form(None, Path(name))
    assert "--format csv|json|markdown|parquet" in str(caught.value.hint)
