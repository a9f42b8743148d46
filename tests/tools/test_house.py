"""tools.house finds what no linter knows, and the repository has none of it."""

from pathlib import Path

import pytest

from tools import house

FAULTY = {
    "a begin of a question": ('"""What it holds."""\n', "begins like a question"),
    "a name that says nothing": ("def f(told: int) -> None: ...\n", "the name 'told' says nothing"),
    "a private word": ("# the ledger\n", "the word 'ledger'"),
    "a long function": ("def f() -> None:\n" + "    print()\n" * 60, "f has 61 lines"),
    "a long module": ("\n" * 351, "351 lines"),
    "a name defined twice": ("class Cell: ...\n", "Cell is defined in runner/contract/cell.py too"),
}


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one sound module."""
    (tmp_path / "runner/contract").mkdir(parents=True)
    (tmp_path / "runner/contract/cell.py").write_text('"""A cell."""\n\n\nclass Cell: ...\n')
    monkeypatch.setattr(house, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize(("text", "message"), FAULTY.values(), ids=FAULTY)
def test_a_broken_rule_is_named_with_its_place(checkout: Path, text: str, message: str) -> None:
    assert house.faults([Path("runner")]) == []
    (checkout / "runner/new.py").write_text(text)
    (fault,) = house.faults([Path("runner/new.py")])
    assert str(fault).startswith("runner/new.py:")
    assert message in str(fault)


def test_a_wide_folder_is_named(checkout: Path) -> None:
    for number in range(23):
        (checkout / f"runner/m{number}.py").touch()
    assert [str(fault) for fault in house.faults([Path("runner")])] == [
        "runner:1: 23 modules (22 is the most)"
    ]
