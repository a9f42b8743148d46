"""One table as Markdown, CSV, JSON and HTML have it; charts in files of formats by name."""

import csv
import io
import json
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from analysis.charts.chart import Chart
from analysis.results.table import Field, Table
from orchestrator.screen.sheet import Sheet, print_sheet, sheet_format, show_sheet
from orchestrator.screen.sheet_output import require_chart, save_chart
from runner.contract.errors import UsageError, how_to_install
from tests.orchestrator.conftest import Screen

Writer = Callable[[Sheet, str], str]
FIELDS = (
    Field("model", essential=True, wraps=True),
    Field("median", "median ms", right=True),
    Field("ratio", "change", kind="change", low="ratio_low", high="ratio_high"),
    Field("agrees", shown=lambda value: value),
    Field("run_id", hidden=True),
)
ROWS = (
    {
        "model": "a|b <b>",
        "median": 1234.5,
        "ratio": 1.12,
        "ratio_low": 1.091,
        "ratio_high": 1.15,
        "agrees": True,
        "run_id": ["run-1"],
    },
    {"model": "other", "median": None, "ratio": 0.5, "agrees": False, "run_id": None},
)
TABLE = Table("of *cpu*", FIELDS, ROWS, ("`x` is first",))
SHEET = Sheet("All", (TABLE,), ("and a note",), {"rows": ROWS})


@pytest.fixture
def written(tmp_path: Path) -> Writer:
    """Writes a sheet into a file of a format, and reads it."""

    def write(sheet: Sheet, form: str) -> str:
        show_sheet(sheet, form, tmp_path / form)
        return (tmp_path / form).read_text("utf-8")

    return write


def test_a_screen_has_titles_tables_and_notes(screen: Screen) -> None:
    print_sheet(SHEET)
    assert screen.printed() == [
        "of *cpu*",
        "model    median ms               change  agrees",
        "a|b <b>      1,234  +12 % (9.1 to 15 %)  yes",
        "other            –                -50 %  no",
        "`x` is first",
        "and a note",
    ]


def test_markdown_escapes_what_is_no_markup(written: Writer) -> None:
    lines = written(SHEET, "markdown").splitlines()
    assert lines[:3] == ["## All", "", r"**of \*cpu\***"]
    assert lines[4:6] == ["| model | median ms | change | agrees |", "| --- | ---: | ---: | --- |"]
    assert lines[6] == r"| a\|b \<b> | 1,234 | +12 % (9.1 to 15 %) | yes |"


def test_csv_has_values_as_they_are_and_the_fields_of_files(written: Writer) -> None:
    (first, second) = csv.DictReader(io.StringIO(written(SHEET, "csv")))
    assert list(first) == ["model", "median", "ratio", "agrees", "run_id"]
    assert (first["median"], first["run_id"], second["median"]) == ("1234.5", '["run-1"]', "")


def test_csv_of_several_tables_names_them_and_repeats_no_heading(written: Writer) -> None:
    other = Table("else", (Field("x"),), ({"x": 1},))
    text = written(Sheet("", (TABLE, TABLE, other), (), None), "csv")
    assert [line.split(",")[0] for line in text.splitlines()] == [
        *("section", *["of *cpu*"] * 4),
        *("section", "else"),
    ]


def test_rows_of_a_sheet_are_its_csv_whatever_its_tables_show(written: Writer) -> None:
    text = written(Sheet("", (TABLE,), (), None, ({"a": 1}, {"a": 2, "b": 3})), "csv")
    assert text == "a,b\n1,\n2,3\n"


def test_json_is_the_data(written: Writer) -> None:
    assert json.loads(written(SHEET, "json"))["rows"][0]["run_id"] == ["run-1"]


def test_html_escapes_and_sorts_by_value(written: Writer) -> None:
    page = written(SHEET, "html")
    assert "a|b &lt;b&gt;" in page
    assert '<td class="n" data-sort="1234.5">1,234</td>' in page
    assert "run-1" not in page


def test_fields_without_a_value_can_be_left_out() -> None:
    table = Table("", (Field("a"), Field("b"), Field("c")), ({"a": 0, "b": "", "c": None},))
    assert [field.name for field in table.filled().fields] == ["a"]


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        (Field("x"), None, "–"),
        (Field("x"), True, "yes"),
        (Field("x"), 12345, "12,345"),
        (Field("x"), datetime(2026, 11, 22, 16, 52, tzinfo=UTC), "2026-11-22 16:52"),
        (Field("x", kind="share"), 0.123, "12.3 %"),
        (Field("x", kind="change"), 1.5, "+50 %"),
        (Field("x", shown=lambda value: value * 2), 2, "4"),
    ],
)
def test_a_value_is_shown_by_its_kind(field: Field, value: object, text: str) -> None:
    assert field.text({"x": value}) == text


def test_an_interval_stands_behind_its_value_unless_details_show_it() -> None:
    row = {"x": 0.5, "low": 0.25, "high": 0.75}
    assert Field("x", kind="share", low="low", high="high").text(row) == "50 % (25 to 75 %)"
    assert Field("x", low="low", high="high", measured=True).text(row) == "0.5"


def test_a_file_has_the_format_that_its_name_says() -> None:
    assert (sheet_format(None, Path("a.md")), sheet_format(None, None)) == ("markdown", "table")
    for form, path in ((None, Path("a.xyz")), ("table", Path("a.md"))):
        with pytest.raises(UsageError, match="--output"):
            sheet_format(form, path)


CHART = Chart(
    "small",
    "Latency <by> batch",
    "cpu takes 4 ms & </script> more.",
    {
        "data": {"values": [{"batch": 1, "latency": 4.0, "backend": "cpu</script>"}]},
        "mark": {"type": "point", "filled": True},
        "encoding": {
            "x": {"field": "batch", "type": "quantitative"},
            "y": {"field": "latency", "type": "quantitative"},
            "color": {"field": "backend", "type": "nominal", "scale": {"domain": ["cpu"]}},
        },
    },
    ("cpu",),
)


def test_a_page_holds_all_it_needs_and_escapes_names(tmp_path: Path) -> None:
    save_chart(CHART, tmp_path / "chart.html")
    page = (tmp_path / "chart.html").read_text()
    assert "default-src 'none'" in page
    assert page.count("</script>") == len(["description", "library", "script"])
    assert "Latency &lt;by&gt; batch" in page
    elements = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"(src|href)=", elements)
    (description,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page)
    assert json.loads(description)["config"]["range"]["category"] == ["var(--cpu)"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<svg")])
def test_drawings_are_the_same_bytes_every_time(tmp_path: Path, name: str, start: bytes) -> None:
    contents = []
    for folder in (tmp_path / "1", tmp_path / "2"):
        save_chart(CHART, folder / name)
        contents.append((folder / name).read_bytes())
    assert contents[0] == contents[1]
    assert contents[0].startswith(start)


def test_an_unknown_format_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="format") as refusal:
        require_chart("--chart", tmp_path / "a.gif", force=False, database=tmp_path / "b")
    assert ".png, .svg, .html" in str(refusal.value.hint)


def test_a_drawing_without_the_extra_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(UsageError, match="extra `analysis`") as refusal:
        save_chart(CHART, tmp_path / "a.png")
    assert how_to_install("analysis") in str(refusal.value.hint)
    assert not (tmp_path / "a.png").exists()
