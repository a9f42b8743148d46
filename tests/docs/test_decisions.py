"""Decision records: numbered without gaps, each with the same four parts, each on one page."""

import re

import pytest

from tests.conftest import ROOT
from tests.docs.pages import Page

FOLDER = ROOT / "docs/decisions"
INDEX = Page(FOLDER / "README.md")
RECORDS = [Page(path) for path in sorted(FOLDER.glob("[0-9]*.md"))]
PARTS = ["Status", "Context", "Decision", "Consequences"]
STATUS = re.compile(
    r"(Accepted|Rejected|Superseded by \[\d{4}\]\(\d{4}-[\w-]+\.md\)), \d{4}-\d\d-\d\d\."
)
LINES_OF_A_PAGE = 60

every_record = pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.path.stem)


def test_numbers_are_consecutive() -> None:
    numbers = [int(record.path.name[:4]) for record in RECORDS]
    assert numbers == list(range(1, len(RECORDS) + 1))


@every_record
def test_name_and_title_bear_the_same_number(record: Page) -> None:
    assert re.fullmatch(r"\d{4}(-[a-z0-9]+)+\.md", record.path.name)
    assert re.match(rf"# {record.path.name[:4]}\. \w", record.text)


@every_record
def test_it_has_the_four_parts_and_none_is_empty(record: Page) -> None:
    head, *parts = re.split(r"^## ", record.text, flags=re.MULTILINE)
    assert [part.split("\n", 1)[0] for part in parts] == PARTS
    assert all(part.split("\n", 1)[1].strip() for part in parts)
    assert STATUS.match(parts[0].split("\n", 1)[1].strip())
    assert head.startswith("# ")


@every_record
def test_it_fits_on_a_page(record: Page) -> None:
    assert len(record.text.splitlines()) <= LINES_OF_A_PAGE


@every_record
def test_the_index_names_it_once_by_its_title(record: Page) -> None:
    title = record.text.splitlines()[0].partition(". ")[2]
    number = record.path.name[:4]
    assert INDEX.text.count(f"- [{number}]({record.path.name}) {title}\n") == 1
