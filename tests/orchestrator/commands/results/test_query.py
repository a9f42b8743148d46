"""Formats of files that hold answers."""

from pathlib import Path

import pytest

from orchestrator.commands.results.query import file_format
from orchestrator.store import WRITERS
from runner.contract.errors import UsageError


def test_the_option_or_the_name_says_the_format() -> None:
    assert [file_format(form, Path("a.txt")) for form in WRITERS] == list(WRITERS)
    assert file_format(None, Path("a.csv")) == "csv"
    assert file_format(None, Path("a.PARQUET")) == "parquet"


def test_a_name_that_says_no_format_is_refused() -> None:
    with pytest.raises(UsageError, match=r"answer: says no format.*csv, .json, .*.parquet"):
        file_format(None, Path("answer"))
