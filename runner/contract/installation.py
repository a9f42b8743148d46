"""The way in which this AccelMatrix was installed, and the command that adds to it."""

from pathlib import Path

IN_CHECKOUT = (Path(__file__).parents[2] / "Makefile").is_file()
"""True if the packages lie in a checkout, whose Makefile installs."""
_BROWSER = "runner.backends.onnxruntime_web.install"
"""Fetches a browser and its runtime, which no wheel holds."""


def how_to_install(extra: str, *, in_checkout: bool = IN_CHECKOUT) -> str:
    """The command that installs an extra here, as hints write it."""
    if in_checkout:
        return f"`make {'install' if extra == 'analysis' else extra}`"
    command = f"`pip install 'accelmatrix[{extra}]'`"
    return f"{command}, then `python -m {_BROWSER}`" if extra == "browser" else command
