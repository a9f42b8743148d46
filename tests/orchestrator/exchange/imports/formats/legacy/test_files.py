"""The origin project's files, each with the records that it becomes: tests/data/expected."""

import pytest

from orchestrator.exchange.imports.formats.legacy import LEGACY
from tests.orchestrator.exchange.imports.cases import Case, check_case, promise, read_cases
from tests.orchestrator.exchange.imports.documents import json_document
from tests.orchestrator.exchange.imports.formats.legacy.samples import FILES

CASES = read_cases("legacy")


@pytest.mark.parametrize("case", CASES, ids=promise)
def test_a_file_becomes_its_records(case: Case) -> None:
    name = case.get("format") or case["file"].removesuffix("-with-metadata")
    check_case(case, [format_ for format_ in LEGACY if format_.name == name], FILES)


def test_every_sample_has_a_case() -> None:
    assert FILES.keys() == {case["file"] for case in CASES if "file" in case}


def test_a_list_of_browsers_reads_each_model_as_a_file_of_its_own() -> None:
    alone, several = (
        next(each for each in LEGACY if each.name == name).read(json_document(FILES[name]))
        for name in ("legacy-browser", "legacy-browsers")
    )
    first = several.measurements[0]
    moved = {"location": "/results/0", "marks": first.marks}
    assert first == alone.measurements[0].model_copy(update=moved)
