"""Files of charts: PNG, SVG, and pages that open offline."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.system.files import output_file, require_free, require_no_stream
from runner.contract.errors import UsageError

if TYPE_CHECKING:
    from analysis.charts.chart import Chart


def save_chart(chart: "Chart", path: Path) -> None:
    """Write a chart into a file, whole or not at all, in the format of the file's name.

    Raises:
        UsageError: the name says no format, or the format needs an extra that is missing.
        StoreError: the file cannot be written.
    """
    content = _writer("a chart", path)(chart)
    with output_file(path) as file:
        file.write(content)


def require_chart(option: str, path: Path, *, force: bool, database: Path) -> None:
    """Refuse a chart that cannot be written, before any work is done for it.

    Raises:
        UsageError: the name says no format, the file exists, or is a stream.
    """
    _writer(option, path)
    require_no_stream(option, path)
    require_free(option, path, force=force, database=database)


def _writer(option: str, path: Path) -> "Callable[[Chart], bytes]":
    writer = _WRITERS.get(path.suffix.lower())
    if writer is None:
        raise UsageError(
            f"{option} {path}: its name says no format of charts",
            hint=f"names of charts end with {', '.join(_WRITERS)}",
        )
    return writer


def _png(chart: "Chart") -> bytes:
    from analysis.charts.drawing import png_of

    return png_of(chart)


def _svg(chart: "Chart") -> bytes:
    from analysis.charts.drawing import svg_of

    return svg_of(chart)


def _html(chart: "Chart") -> bytes:
    from analysis.charts.drawing import chart_page

    return chart_page(chart)


_WRITERS: "Mapping[str, Callable[[Chart], bytes]]" = {".png": _png, ".svg": _svg, ".html": _html}
