"""Words of the screen are explained in three lines, under whatever name a reader tries."""

import pytest

from orchestrator.screen.dictionary import WORDS, find_word
from runner.contract.errors import UsageError


def test_every_word_has_three_lines_and_names_of_its_own() -> None:
    names = [name.casefold() for word in WORDS for name in (word.name, *word.others)]
    assert len(set(names)) == len(names)
    assert [word.name.casefold() for word in WORDS] == sorted(w.name.casefold() for w in WORDS)
    for word in WORDS:
        assert len(word.lines) == 3, word.name
        assert all(line.strip() == line and line for line in word.lines), word.name
        assert "docs/" not in " ".join(word.lines), "pip installs no pages"
        assert word.lines[0].endswith((".", "…")), f"{word.name}: the list shows this line alone"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Grades", "grade"),
        ("± %", "±"),
        ("support_class", "support class"),
        ("throughput", "samples/s"),
    ],
)
def test_a_word_is_found_by_the_name_on_the_screen(text: str, name: str) -> None:
    assert find_word(text).name == name


def test_an_unknown_word_gets_a_guess() -> None:
    with pytest.raises(UsageError, match="did you mean grade") as caught:
        find_word("grad")
    assert caught.value.hint == "`orchestrator explain` lists the words"
