"""Decision records: numbered without gaps, each with the same four parts, each on one page."""

import re

import pytest

from tests.conftest import ROOT
from tests.docs.pages import Page

FOLDER = ROOT / "docs/decisions"
INDEX = Page(FOLDER / "README.md")
RECORDS = [Page(path) for path in sorted(FOLDER.glob("[0-9]*.md"))]
PARTS = ["Status", "Context", "Decision", "Consequences"]
STATUS = re.compile(r"Accepted, \d{4}-\d\d-\d\d\.")
MOST_RECORDS = 35
WORDS_OF_A_PAGE = 500

every_record = pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.path.stem)


def test_they_are_few_and_their_numbers_are_consecutive() -> None:
    numbers = [int(record.path.name[:4]) for record in RECORDS]
    assert numbers == list(range(1, len(RECORDS) + 1))
    assert len(RECORDS) <= MOST_RECORDS


@every_record
def test_it_has_its_number_its_four_parts_and_fits_on_a_page(record: Page) -> None:
    assert re.fullmatch(r"\d{4}(-[a-z0-9]+)+\.md", record.path.name)
    head, *parts = re.split(r"^## ", record.text, flags=re.MULTILINE)
    assert re.match(rf"# {record.path.name[:4]}\. \w", head)
    titles, texts = zip(*(part.split("\n", 1) for part in parts), strict=True)
    assert list(titles) == PARTS
    assert all(text.strip() for text in texts)
    assert STATUS.fullmatch(texts[0].strip())
    assert len(record.text.split()) <= WORDS_OF_A_PAGE


@every_record
def test_the_index_names_it_once_by_its_title(record: Page) -> None:
    title = record.text.splitlines()[0].partition(". ")[2]
    number = record.path.name[:4]
    assert INDEX.text.count(f"- [{number}]({record.path.name}) {title}\n") == 1
