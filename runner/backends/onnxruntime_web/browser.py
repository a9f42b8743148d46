"""Browsers: which one is found here, how it is started, and how it ends."""

import json
import os
import shutil
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from playwright.sync_api import Browser, Error, Playwright, sync_playwright

from runner.backends.onnxruntime_web.install import FOLDER, VERSIONS_FILE
from runner.contract.axes import Backend
from runner.contract.errors import BenchError, TimedOut, Unavailable
from runner.contract.reasons import reason
from runner.contract.web import BROWSER_VARIABLE, CHROMIUM, HEADED_VARIABLE, OWN_BROWSER
from runner.measure.clock import monotonic

_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "chromium": CHROMIUM,
    "chrome": (
        "google-chrome",
        "google-chrome-stable",
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    ),
    "edge": (
        "microsoft-edge",
        "microsoft-edge-stable",
        "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    ),
}
_ALWAYS = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--js-flags=--no-wasm-lazy-compilation",
)
_OF_BACKEND: Mapping[Backend, tuple[str, ...]] = {
    "wasm": (),
    "webgpu": ("--enable-unsafe-webgpu",),
    "webnn": ("--enable-features=WebMachineLearningNeuralNetwork",),
}
_PROFILE = "--user-data-dir="
CLOSE_S = 10
"""The most seconds that a browser or a page takes to end before it is killed."""


def find_browser(environment: Mapping[str, str] = os.environ) -> Path:
    named = environment.get(BROWSER_VARIABLE, "")
    if not named and OWN_BROWSER.is_file():
        return OWN_BROWSER
    candidates = _COMMANDS.get(named or "chromium", (named,))
    for candidate in candidates:
        if path := shutil.which(candidate):
            return Path(path)
    if named:
        raise Unavailable(reason("browser_not_here", variable=BROWSER_VARIABLE, browser=named))
    raise Unavailable(reason("browser_missing"))


def found_browsers(environment: Mapping[str, str] = os.environ) -> dict[str, Path]:
    """The browsers that are found here, by name: our own, the known ones, the one asked for."""
    browsers = {"our own": OWN_BROWSER} if OWN_BROWSER.is_file() else {}
    chosen = environment.get(BROWSER_VARIABLE, "")
    for name in dict.fromkeys((*_COMMANDS, *([chosen] if chosen else ()))):
        with suppress(Unavailable):
            path = find_browser({BROWSER_VARIABLE: name})
            if path.resolve() not in {known.resolve() for known in browsers.values()}:
                browsers[name] = path
    return browsers


def runtime_version() -> str:
    try:
        versions = json.loads((FOLDER / VERSIONS_FILE).read_text("utf-8"))
    except OSError as error:
        raise Unavailable(reason("onnx_web_missing")) from error
    return str(versions["onnxruntime-web"])


@dataclass(frozen=True)
class StartedBrowser:
    """A browser at work, with the processes that it consists of."""

    browser: Browser
    executable: Path
    arguments: Sequence[str]
    process: psutil.Process
    launch_ns: int

    def processes(self) -> list[psutil.Process]:
        with suppress(psutil.NoSuchProcess):
            return [self.process, *self.process.children(recursive=True)]
        return []

    def kill(self) -> None:
        """End all of its processes: they are a group, which outlives its first one."""
        _kill(self.processes())
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    @contextmanager
    def within(self, seconds: float, action: str) -> Iterator[None]:
        """End the browser if the context lasts longer, since a page may never answer."""
        overdue = threading.Event()
        was_alive = True

        def end() -> None:
            nonlocal was_alive
            was_alive = is_alive(self.process)
            overdue.set()
            self.kill()

        # The driver answers no call for a new page whose browser ends meanwhile.
        timers = [threading.Timer(seconds, end), threading.Timer(seconds + CLOSE_S, _DRIVER.kill)]
        for timer in timers:
            timer.daemon = True
            timer.start()
        try:
            yield
        except Error as error:
            if not was_alive:
                raise BenchError(reason("page_browser_ended", action=action)) from error
            if overdue.is_set():
                raise TimedOut(reason("page_silent", action=action, seconds=seconds)) from error
            raise
        finally:
            for timer in timers:
                timer.cancel()


@contextmanager
def started_browser(
    backend: Backend, *, software: bool, environment: Mapping[str, str] = os.environ
) -> Iterator[StartedBrowser]:
    executable = find_browser(environment)
    arguments = (
        *_ALWAYS,
        *_OF_BACKEND[backend],
        *(("--use-webgpu-adapter=swiftshader",) if software else ()),
    )
    headless = environment.get(HEADED_VARIABLE) != "1"
    # A browser that is killed leaves its temporary files.
    temporary = TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
    with temporary as folder, _DRIVER.running() as playwright:
        before = {child.pid for child in psutil.Process().children(recursive=True)}
        began = monotonic()
        browser = _launch(playwright, executable, arguments, headless, folder)
        launch_ns = monotonic() - began
        children = psutil.Process().children(recursive=True)
        new = ((child, _profile(child)) for child in children if child.pid not in before)
        process, profile = next((pair for pair in new if pair[1]), (None, None))
        if process is None or profile is None:
            raise Unavailable(reason("browser_ended_at_once", browser=executable.name))
        started = StartedBrowser(browser, executable, arguments, process, launch_ns)
        try:
            yield started
        finally:
            with suppress(Error, BenchError), started.within(CLOSE_S, "closing the browser"):
                browser.close()
            started.kill()
            psutil.wait_procs([process], timeout=CLOSE_S)
            # The driver removes it too, unless it is stopped before it knows of a browser's end.
            shutil.rmtree(profile, ignore_errors=True)


class _Driver:
    """Playwright's driver, which serves all browsers that are open: a thread can have only one."""

    def __init__(self) -> None:
        self._playwright: Playwright | None = None
        self._processes: list[psutil.Process] = []
        self._users = 0

    @contextmanager
    def running(self) -> Iterator[Playwright]:
        """The driver, which ends with the last context that uses it."""
        playwright = self._playwright or self._started()
        self._users += 1
        try:
            yield playwright
        finally:
            self._users -= 1
            if not self._users:
                self._playwright = None
            if not self._users or self._playwright is not playwright:
                playwright.stop()

    def kill(self) -> None:
        """End it, since it answers no more: calls fail, and the next context starts another."""
        self._playwright = None
        _kill(self._processes)

    def _started(self) -> Playwright:
        own = psutil.Process()
        before = {child.pid for child in own.children()}
        try:
            self._playwright = sync_playwright().start()
        except Exception as error:  # Playwright raises no class of its own there
            raise Unavailable(reason("browser_driver", error=error)) from error
        self._processes = [child for child in own.children() if child.pid not in before]
        return self._playwright


_DRIVER = _Driver()


def _launch(
    playwright: Playwright, executable: Path, arguments: Sequence[str], headless: bool, folder: str
) -> Browser:
    try:
        return playwright.chromium.launch(
            executable_path=executable,
            args=[*arguments],
            headless=headless,
            env={**os.environ, "TMPDIR": folder},
            timeout=60_000,
        )
    except Error as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        words = next((line for line in lines if "error while loading" in line), lines[0])
        facts = {"browser": executable.name, "words": words}
        raise Unavailable(reason("browser_does_not_start", **facts)) from error


def _kill(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def is_alive(process: psutil.Process) -> bool:
    """True if it has not ended; whoever started it may not know yet."""
    with suppress(psutil.NoSuchProcess):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


def _profile(process: psutil.Process) -> str | None:
    """The profile of a browser's first process, which its driver made; None for any other one."""
    with suppress(psutil.Error):
        words = process.cmdline()
        profiles = [word.removeprefix(_PROFILE) for word in words if word.startswith(_PROFILE)]
        if profiles and not any(word.startswith("--type=") for word in words):
            return profiles[0]
    return None
