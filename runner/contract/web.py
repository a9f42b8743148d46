"""Pages with ONNX Runtime Web, whoever serves them, and the browser that a user chose."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field

from runner.contract.axes import Backend
from runner.contract.cell import Frozen

WEB_FOLDER = Path(sys.prefix, "share", "accelmatrix", "browser")
"""The folder in which `make browser` installs a browser and the runtime."""
RUNTIME_FOLDER = WEB_FOLDER / "onnxruntime-web"
"""The runtime's files, with which a page executes graphs."""
SCRIPTS_FOLDER = Path(__file__).parents[1] / "backends" / "onnxruntime_web" / "page"
"""Our own scripts around the runtime."""
BUNDLES: Mapping[Backend, str] = {
    "wasm": "ort.wasm.min.mjs",
    "webgpu": "ort.webgpu.min.mjs",
    "webnn": "ort.webgpu.min.mjs",
}
"""The runtime's script for each backend."""
ISOLATION: Mapping[str, str] = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Headers that isolate a page from other origins: a browser gives only such pages threads and a
clock of 5 µs."""
BYTES_TYPE = "application/octet-stream"
_TYPES: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".wasm": "application/wasm",
}
_PROVIDERS: Mapping[Backend, object] = {
    "wasm": "wasm",
    "webgpu": "webgpu",
    "webnn": {"name": "webnn", "deviceType": "cpu"},
}


def content_type(path: Path) -> str:
    """The media type of a file: browsers execute a script only as what it is."""
    return _TYPES.get(path.suffix, BYTES_TYPE)


def web_session_options(backend: Backend) -> dict[str, Any]:
    """The options of the runtime's sessions on a backend.

    No provider but WebGPU may leave nodes to the CPU: that one does so with a few by design.
    """
    extra = {"session": {"disable_cpu_ep_fallback": "1"}} if backend == "webnn" else {}
    return {"executionProviders": [_PROVIDERS[backend]], "extra": extra}


BROWSER_VARIABLE = "ACCELMATRIX_BROWSER"
"""Names the browser: `chromium`, `chrome`, `edge`, or the path of an executable."""
OWN_BROWSER = WEB_FOLDER / "chromium" / "chromium"
CHROMIUM = ("/usr/lib/chromium/chromium", "chromium", "chromium-browser")
"""Commands of the system's Chromium, which is taken where there is none of our own."""
HEADED_VARIABLE = "ACCELMATRIX_BROWSER_HEADED"  # `1` shows the browser's window
DISPLAY_VARIABLES = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR")
"""Variables that a window needs."""


class BrowserChoice(Frozen):
    """A browser and its window, as the user chose them."""

    name: Annotated[str, Field(max_length=1000)] = ""
    """`chromium`, `chrome`, `edge`, or the path of an executable, the user's own folder as `~`;
    empty for our own."""
    headed: bool = False

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Self | None:
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
        return f"{self.name or 'our own'}{', with a window' if self.headed else ''}"
