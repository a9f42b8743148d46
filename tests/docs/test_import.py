"""docs/import.md: its examples are read, and its tables agree with the code."""

import shlex
from pathlib import Path

import pytest

from orchestrator.exchange.imports.document import Document
from orchestrator.exchange.imports.entry import Reading
from orchestrator.exchange.imports.formats.mapping import MappedFormat
from tests.conftest import ROOT
from tests.docs.pages import Block, Page
from tests.support.workplace import Workplace

PAGE = Page(ROOT / "docs/import.md")
TIMM = "theirs/benchmark-infer-amp-nhwc-pt240-cu124-rtx4090.csv"


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    """A folder with the files of the page's example, which the page's first command imports."""
    folder = tmp_path_factory.mktemp("user")
    (folder / "theirs").mkdir()
    bert, models, *_ = PAGE.blocks("json")
    table = PAGE.blocks("csv")[0]
    for name, block in (("theirs/bert.json", bert), ("theirs/models.json", models), (TIMM, table)):
        (folder / name).write_text(block.text)
    return Workplace(folder, "process")


@pytest.mark.slow
def test_the_commands_say_what_the_page_shows(user: Workplace) -> None:
    for block in PAGE.blocks("console"):
        command, _, shown = block.text.partition("\n")
        done = user.do(*shlex.split(command)[2:])
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == shown


@pytest.mark.slow
def test_the_views_show_what_the_table_says(user: Workplace) -> None:
    assert user.do("import", "theirs").returncode == 0
    for names, _, theirs, simulated in PAGE.rows("view"):
        for name in names.replace("`", "").split():
            rows = user.ask(f"SELECT * FROM {name}")
            assert bool(rows) == (theirs != "–"), name
            assert simulated != "–" or not any(row.get("simulated") for row in rows), name


def reading_of(folder: Path, results: Block, mapping: Block, name: str) -> Reading:
    """What the page's mapping makes of the page's results."""
    (folder / name).write_text(results.text)
    (folder / "lab.yaml").write_text(mapping.text)
    format_, document = MappedFormat.load(folder / "lab.yaml"), Document.read(folder / name)
    assert format_.recognises(document)
    reading = format_.read(document)
    assert reading.faults == reading.empty == ()
    return reading


def test_the_csv_example_gives_its_rows(tmp_path: Path) -> None:
    reading = reading_of(tmp_path, PAGE.blocks("csv")[1], PAGE.blocks("yaml")[0], "lab.csv")
    assert [(one.model, one.status, one.latency_mean_s) for one in reading.measurements] == [
        ("resnet50", "ok", 0.0124),
        ("bert-base-uncased", "ok", 0.03025),
        ("llama-7b", "out_of_memory", None),
    ]
    first = reading.measurements[0]
    assert (first.precision, first.memory_peak_bytes) == ("fp16", 3 * 2**29)
    assert first.libraries == {"torch": "2.4.1"}


def test_the_json_example_gives_its_rows(tmp_path: Path) -> None:
    reading = reading_of(tmp_path, PAGE.blocks("json")[2], PAGE.blocks("yaml")[1], "lab.json")
    shapes = [(one.model, one.batch_size, one.latency_mean_s) for one in reading.measurements]
    assert shapes == [("resnet50", 1, 0.0051), ("resnet50", 8, 0.0124), ("vit-base", 1, 0.0060005)]
    assert {one.device_name for one in reading.measurements} == {"NVIDIA L4"}
