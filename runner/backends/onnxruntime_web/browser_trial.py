"""A trial of each browser found here: a JSON line for each backend, in the browser's words."""

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx

from runner.backends.onnxruntime_web.browser import found_browsers, started_browser
from runner.backends.onnxruntime_web.device import web_device
from runner.backends.onnxruntime_web.page import WebPage, single_node
from runner.contract.axes import Backend
from runner.contract.errors import BenchError, reason_of
from runner.contract.reasons import write_reason
from runner.contract.web import BROWSER_VARIABLE, web_session_options

TRIED: tuple[Backend, ...] = ("wasm", "webgpu", "webnn")
_NOT_DRIVEN = ("firefox", "firefox-esr", "/Applications/Firefox.app/Contents/MacOS/firefox")
_PART = "forward"


def findings(environment: Mapping[str, str] = os.environ) -> Iterator[dict[str, object]]:
    for name, executable in found_browsers(environment).items():
        for backend in TRIED:
            yield {
                "browser": name,
                "executable": str(executable),
                "backend": backend,
                **_outcome(executable, backend),
            }
    if firefox := next(filter(None, map(shutil.which, _NOT_DRIVEN)), None):
        yield {
            "browser": "firefox",
            "executable": firefox,
            "backend": None,
            "version": None,
            "works": False,
            "message": "not driven: AccelMatrix drives Chromium, Chrome and Edge",
        }


def _outcome(executable: Path, backend: Backend) -> dict[str, object]:
    known: dict[str, object] = {"version": None}
    try:
        for fact in _try(executable, backend):
            known |= fact
    except BenchError as error:
        return {**known, "works": False, "message": write_reason(reason_of(error))}
    except Exception as error:  # whatever a browser does, the next one is tried
        words = str(error).strip().splitlines() or [type(error).__name__]
        return {**known, "works": False, "message": words[0]}
    return {**known, "works": True}


def _try(executable: Path, backend: Backend) -> Iterator[dict[str, object]]:
    """Facts about the browser while a graph is executed in it: its version, then the device."""
    environment = {BROWSER_VARIABLE: str(executable)}
    with started_browser(backend, software=False, environment=environment) as browser:
        yield {"version": browser.browser.version}
        with closing(WebPage(browser, backend, threads=1)) as page:
            device = web_device(backend, page.facts, software=True)
            _compute(page, backend)
        yield {"message": device.name}


def _compute(page: WebPage, backend: Backend) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "double.onnx")
        onnx.save(single_node("Add", ["x", "x"]), path)
        part: dict[str, Any] = {"name": _PART, "weights": [], "overrides": {}}
        part["url"] = page.server.add_file(path)
        opened = page.call("open", {"parts": [part], "options": web_session_options(backend)})
    inputs = {"x": page.array(np.full(1, 2, np.float32))}
    bound = {"parts": [{"name": _PART, "inputs": ["x"]}], "inputs": inputs}
    outputs = page.outputs("post", page.call("bind", opened["id"], bound))
    (value,) = outputs.values()
    if value.tolist() != [4.0]:
        raise ValueError(f"2 + 2 is {value.tolist()} there")


def main() -> int:
    for finding in findings():
        sys.stdout.write(f"{json.dumps(finding)}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
