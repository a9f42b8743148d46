"""The browser that a user chose instead of our own."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field

from runner.contract.cell import Frozen

BROWSER_VARIABLE = "ACCELMATRIX_BROWSER"
"""Names the browser: `chromium`, `chrome`, `edge`, or the path of an executable."""
HEADED_VARIABLE = "ACCELMATRIX_BROWSER_HEADED"
"""`1` shows the browser's window."""
DISPLAY_VARIABLES = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR")
"""Variables that a window needs."""


class BrowserChoice(Frozen):
    """A browser and its window, as the user chose them."""

    name: Annotated[str, Field(max_length=1000)] = ""
    """`chromium`, `chrome`, `edge`, or the path of an executable, the user's own folder as `~`;
    empty for our own."""
    headed: bool = False
    """True if it shows its window."""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Self | None:
        """The choice that variables tell; None without one."""
        name, home = environment.get(BROWSER_VARIABLE, ""), environment.get("HOME", "").rstrip("/")
        if "/" in name:
            name = str(Path(name).expanduser().absolute())
            if home and name.startswith(f"{home}/"):
                name = f"~{name.removeprefix(home)}"
        choice = cls(name=name, headed=environment.get(HEADED_VARIABLE) == "1")
        return choice if choice != cls() else None

    def variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The variables that tell a runner of it, and where a window is shown."""
        own = {BROWSER_VARIABLE: str(Path(self.name).expanduser())} if self.name else {}
        if not self.headed:
            return own
        shown = {name: environment[name] for name in DISPLAY_VARIABLES if name in environment}
        return {**own, HEADED_VARIABLE: "1", **shown}

    def __str__(self) -> str:
        """The browser in words."""
        return f"{self.name or 'our own'}{', with a window' if self.headed else ''}"
