"""Write the drawing library of pages into the package: `python -m tools.vega [--check]`."""

import sys

from analysis.charts.chart import VEGA_LITE
from analysis.charts.drawing import VEGA_FILE

DRAW = """window.drawChart = (element, spec) => vegaEmbed(element, spec, {ast: true, actions: false,
  renderer: "svg", defaultStyle: false, tooltip: {disableDefaultStyle: true}});"""
"""The one function of it that pages call.

Expressions are interpreted, so that a policy without `unsafe-eval` holds, and no style is added.
"""


def vega_script() -> str:
    """Vega, Vega-Lite and Vega-Embed with all that they need, as one script."""
    import vl_convert

    script = vl_convert.javascript_bundle(DRAW, vl_version=VEGA_LITE)
    return f"(() => {{{script}}})();\n"


def main() -> int:
    """Write the file, or check it with `--check`."""
    content = vega_script()
    if "--check" not in sys.argv[1:]:
        VEGA_FILE.write_text(content, "utf-8")
        return 0
    if VEGA_FILE.is_file() and VEGA_FILE.read_text("utf-8") == content:
        return 0
    sys.stderr.write(f"{VEGA_FILE.name} is stale: run `make schemas` and commit it\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
