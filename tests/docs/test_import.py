"""docs/import.md: its examples are read, and its tables agree with the code."""

from pathlib import Path

from orchestrator.imports.document import Document
from orchestrator.imports.formats.mapping import Mapped
from orchestrator.imports.quantities import UNITS
from orchestrator.imports.reading import Reading
from tests.conftest import ROOT
from tests.docs.pages import Page

PAGE = Page(ROOT / "docs/import.md")


def reading_of(folder: Path, results: str, mapping: str, name: str) -> Reading:
    """What the page's mapping makes of the page's results."""
    (folder / name).write_text(results)
    (folder / "lab.yaml").write_text(mapping)
    format_, document = Mapped.load(folder / "lab.yaml"), Document.read(folder / name)
    assert format_.recognises(document)
    return format_.read(document)


def test_the_csv_example_gives_its_rows(tmp_path: Path) -> None:
    (results,), mapping = PAGE.blocks("csv"), PAGE.blocks("yaml")[0]
    reading = reading_of(tmp_path, results.text, mapping.text, "lab.csv")
    assert reading.faults == reading.empty == ()
    told = [(one.model, one.status, one.latency_mean_s) for one in reading.found]
    assert told == [
        ("resnet50", "ok", 0.0124),
        ("bert-base-uncased", "ok", 0.03025),
        ("llama-7b", "out_of_memory", None),
    ]
    first = reading.found[0]
    assert (first.precision, first.memory_peak_bytes) == ("fp16", 3 * 2**29)
    assert first.libraries == {"torch": "2.4.1"}


def test_the_json_example_gives_its_rows(tmp_path: Path) -> None:
    (results,), mapping = PAGE.blocks("json"), PAGE.blocks("yaml")[1]
    reading = reading_of(tmp_path, results.text, mapping.text, "lab.json")
    told = [(one.model, one.batch_size, one.latency_mean_s) for one in reading.found]
    assert told == [("resnet50", 1, 0.0051), ("resnet50", 8, 0.0124), ("vit-base", 1, 0.0060005)]
    assert {one.device_name for one in reading.found} == {"NVIDIA L4"}


def test_the_units_are_those_of_the_code() -> None:
    told = [units.replace("`", "").split() for _, units in PAGE.rows("for")]
    assert told == [list(units) for units in UNITS.values()]
