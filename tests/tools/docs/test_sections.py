"""Generated sections are made anew where they stand, and nothing else is touched."""

from pathlib import Path

import pytest

from orchestrator.commands.measure.verification import save_verification
from tests.docs.pages import PAGES
from tests.support.results import a_cell, a_verification
from tools.docs.sections import SECTIONS, built_markdown, verified_markdown, with_sections

OLD = """# Title

<!-- generated: built -->
| old |
<!-- end: built -->

Words with \\1 in them.

<!-- generated: verified -->
<!-- end: verified -->

The end.
"""


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    cells = (a_cell("ok"), a_cell("unsupported", "a [guard] | no", runtime="onnxruntime"))
    libraries = {"torch": "2.13.0", "numpy": "2.4.6"}
    verified = a_verification(*cells, launcher="docker", libraries=libraries)
    save_verification(verified, tmp_path / "verified.json")
    return tmp_path / "verified.json"


def test_sections_are_made_anew_and_the_rest_stays(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(OLD)
    text = with_sections(tmp_path / "page.md")
    assert "| old |" not in text
    assert built_markdown() in text
    for words in ("# Title", "Words with \\1 in them.", "The end."):
        assert words in text
    (tmp_path / "page.md").write_text(text)
    assert with_sections(tmp_path / "page.md") == text


@pytest.mark.parametrize("name", SECTIONS)
def test_every_section_stands_on_one_page(name: str) -> None:
    for mark in (f"<!-- generated: {name} -->", f"<!-- end: {name} -->"):
        assert sum(page.text.count(mark) for page in PAGES) == 1


def test_a_verification_is_a_table_with_its_reasons(kept: Path) -> None:
    lines = verified_markdown(kept).splitlines()
    assert lines[0] == (
        "Verified on 2026-11-21 with version 0.1.0 by `orchestrator verify`, launcher `docker`, "
        "on Debian 12; cpu torch: AMD EPYC; cpu onnxruntime: AMD EPYC. "
        "Libraries: numpy 2.4.6, torch 2.13.0."
    )
    assert lines[2:] == [
        "| verified | mode | cpu torch | cpu onnxruntime |",
        "|---|---|---|---|",
        "| `bert-micro` | inference | ok | unsupported \\[1\\] |",
        "",
        "1. a \\[guard\\] \\| no",
    ]
