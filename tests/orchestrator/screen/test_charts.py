"""Files of charts: formats by name, one page that needs nothing, the extra that is named."""

import json
import re
import sys
from pathlib import Path

import pytest

from analysis.charts.chart import Chart
from orchestrator.screen.sheet_output import require_chart, save_chart
from runner.contract.errors import UsageError, how_to_install

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
