"""The docs' screenshots: drawn by one command, at 80 columns, and shown on a page."""

import html
import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.workplace import Workplace
from tools.docs.picture import COLUMNS
from tools.docs.screenshots import SCREENS, draw_all

NAMES = ("run", *SCREENS)
TEXT = re.compile(r'<text class="[^"]*" x="([\d.]+)" y="([\d.]+)"[^>]*>(.*?)<')


def lines_of(picture: Path) -> list[str]:
    """The lines that a picture shows, from the top."""
    parts: dict[float, list[tuple[float, str]]] = {}
    for x, y, text in TEXT.findall(picture.read_text()):
        parts.setdefault(float(y), []).append((float(x), html.unescape(text).replace("\xa0", " ")))
    return ["".join(text for _, text in sorted(parts[y])) for y in sorted(parts)]


@pytest.mark.parametrize("name", NAMES)
def test_every_picture_is_on_a_page_and_80_columns_wide(name: str) -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    assert any(f"{name}.svg)" in page.read_text() for page in pages)
    lines = lines_of(ROOT / "docs" / f"{name}.svg")
    assert lines[0].startswith("$ orchestrator ")
    assert len(lines) > 2
    assert all(len(line.rstrip()) <= COLUMNS == 80 for line in lines)


def test_the_readme_begins_with_a_run_that_answers_in_a_sentence() -> None:
    readme = (ROOT / "README.md").read_text()
    sample = re.search(
        r"<!-- sample -->\n```console\n(.*?)\n```\n<!-- /sample -->", readme, re.DOTALL
    )
    assert sample
    prompt, *results = sample[1].splitlines()
    assert prompt.startswith("$ orchestrator bench ")
    assert any(line.startswith("fastest: ") for line in results)
    picture = [line.rstrip() for line in lines_of(ROOT / "docs/run.svg")]
    assert {line for line in results if line} <= set(picture)


@pytest.mark.nightly
@pytest.mark.slow
def test_a_folder_with_results_is_drawn_as_it_is(tmp_path: Path) -> None:
    place = Workplace(tmp_path, "process")
    place.write_matrix()
    assert place.run().returncode == 0
    docs = tmp_path / "docs"
    docs.mkdir()
    failed = draw_all(tmp_path, docs)
    screens = {path.stem: lines_of(path) for path in docs.iterdir()}
    assert not failed
    assert {*screens} == {*NAMES}
    assert screens["run"][0] == "$ orchestrator status last"
