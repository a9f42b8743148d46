"""`verify` without a stack: what it refuses. With one, see `tests/e2e/test_graphs.py`."""

import pytest

from tests.support.command_line import complains, files
from tests.support.workplace import Workplace


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--backends", "tpu"], 2, "--backends: 'tpu' is not one of cpu, cuda"),
        (
            ["--models", "bert"],
            2,
            "--models: 'bert' is a kind of model; did you mean bert-base-uncased, bert-tiny",
        ),
        (["--backends", "cpu", "--modes", "sleep"], 2, "--modes: 'sleep' is not one of"),
        (["--backends", "qnn", "--runtimes", "torch"], 2, "none of qnn executes torch"),
        (["--backends", "wasm"], 2, "none of wasm executes anything yet"),
        (["--save", "no/verified.json"], 6, "--save no/verified.json: cannot be written: No such"),
        (["--save", "."], 6, "--save .: cannot be written: Is a directory"),
        (
            ["--models", "bert-tiny", "--backends", "cpu", "--modes", "generation"],
            3,
            "generation is not possible with bert-tiny",
        ),
    ],
    ids=["backend", "model", "mode", "runtime", "not-built", "no-folder", "a-folder", "nothing"],
)
def test_what_cannot_be_verified_is_refused_before_anything_is_made(
    place: Workplace, options: list[str], code: int, words: str
) -> None:
    before = files(place.folder)
    complains(place.do("verify", "--launcher", "process", *options), code, words)
    assert files(place.folder) == before
