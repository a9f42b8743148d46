"""The browsers found here, and which backends work in each: every one is tried."""

import subprocess
import sys
from dataclasses import dataclass

from pydantic import TypeAdapter

from orchestrator.backends.machine import require_stack
from runner.contract.cell import Backend
from runner.contract.errors import BenchError
from runner.contract.variables import python_environment

TRIAL_S = 900
_TRIAL = "runner.backends.onnxruntime_web.browser_trial"


@dataclass(frozen=True)
class BrowserFinding:
    """One backend in one browser."""

    browser: str
    """`our own`, `chromium`, `chrome`, `edge`, `firefox`, or the path that the user named."""
    executable: str
    """The browser's file."""
    version: str | None
    """Its version, if it started."""
    backend: Backend | None
    """The backend that was tried; None in a browser that is not driven."""
    works: bool
    """True if it computed."""
    message: str
    """The device, or the reason in the browser's own words."""


_FINDING = TypeAdapter(BrowserFinding)


def try_browsers(python: str = sys.executable) -> list[BrowserFinding]:
    """Execute a small graph by every backend in every browser; some seconds each."""
    require_stack("wasm")
    try:
        done = subprocess.run(
            [python, "-P", "-m", _TRIAL],
            env=python_environment(),
            capture_output=True,
            text=True,
            timeout=TRIAL_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"the trial of browsers did not end within {TRIAL_S} s") from error
    if done.returncode != 0:
        words = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise BenchError(f"the trial of browsers failed: {words}")
    return [_FINDING.validate_json(line) for line in done.stdout.splitlines() if line]
