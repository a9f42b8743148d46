"""Options that name a baseline are refused before anything is measured, with the reason."""

import pytest

from tests.support.command_line import complains
from tests.support.workplace import Workplace


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--interleave"], 2, "--interleave: no baseline is named"),
        (["--threshold", "3%"], 2, "--threshold: no baseline is named"),
        (["--compare-to", "last", "--threshold", "much"], 2, "--threshold"),
        (["--compare-to", "last", "--interleave", "--verify-only"], 2, "--verify-only takes none"),
        (["--compare-to", "last", "--interleave"], 2, "--interleave needs images"),
        (["--compare-to", "nobody"], 2, "'nobody' is no run, snapshot, file or host"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_compared_is_refused_before_it_is_measured(
    measured: Workplace, options: list[str], code: int, words: str
) -> None:
    before = measured.run_folder
    complains(measured.run(*options), code, words)
    assert measured.run_folder == before
