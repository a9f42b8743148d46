"""Formats of files that hold answers."""

from pathlib import Path

import pytest

from orchestrator.app.results.query import file_format
from orchestrator.store import WRITERS
from runner.contract.errors import UsageError


def test_a_table_is_not_for_files() -> None:
    for form in WRITERS:
        assert file_format(form, Path("a.txt")) == form
    with pytest.raises(UsageError, match="tables are for the screen"):
        file_format("table", Path("a.csv"))


@pytest.mark.parametrize(("name", "form"), [("a.csv", "csv"), ("a.PARQUET", "parquet")])
def test_a_name_says_the_format(name: str, form: str) -> None:
    assert file_format(None, Path(name)) == form


@pytest.mark.parametrize(("name", "said"), [("a.txt", "'.txt' says"), ("answer", "answer: says")])
def test_a_name_that_says_no_format_is_refused(name: str, said: str) -> None:
    with pytest.raises(UsageError, match=f"{said} no format.*csv, .json, .*.parquet") as caught:
        file_format(None, Path(name))
    assert "--format csv|json|markdown|parquet" in str(caught.value.hint)
