"""`verify` without a stack: what it refuses. With one, see `tests/e2e/test_graphs.py`."""

import pytest

from tests.support.command_line import complains, files
from tests.support.workplace import Workplace


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--backend", "tpu"], 2, "--backend: 'tpu' is unknown; did you mean cpu?"),
        (
            ["--model", "bert"],
            2,
            "--model: 'bert' is a kind of model; did you mean bert-base-uncased, bert-tiny",
        ),
        (["--backend", "cpu", "--mode", "sleep"], 2, "--mode: 'sleep' is not one of"),
        (["--backend", "qnn", "--runtime", "torch"], 2, "none of qnn executes torch"),
        (["--save", "no/verified.json"], 6, "--save no/verified.json: cannot be written: No such"),
        (["--save", "."], 6, "--save .: cannot be written: Is a directory"),
        (
            ["--model", "bert-tiny", "--backend", "cpu", "--mode", "generation"],
            3,
            "generation is not possible with bert-tiny",
        ),
    ],
    ids=["backend", "model", "mode", "runtime", "no-folder", "a-folder", "nothing"],
)
def test_what_cannot_be_verified_is_refused_before_anything_is_made(
    place: Workplace, options: list[str], code: int, words: str
) -> None:
    before = files(place.folder)
    complains(place.do("verify", "--launcher", "process", *options), code, words)
    assert files(place.folder) == before
