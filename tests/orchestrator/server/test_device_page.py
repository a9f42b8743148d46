"""The page in a real browser, over a graph of two nodes: one launch for everything."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from orchestrator.exchange.imports.formats import FORMATS
from orchestrator.exchange.imports.outcome import read_file
from orchestrator.server.content import PageGraph, page_content
from orchestrator.server.web_server import serving
from runner.contract.web import RUNTIME_FOLDER, WEB_FOLDER
from tests.support.needs import lacking
from tests.support.onnx_graphs import KEY
from tests.support.siblings import siblings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not RUNTIME_FOLDER.is_dir(), reason="`make browser` was not called"),
]
SCREENS = siblings(product(("light", "dark"), (1280, 390)), keep=[("dark", 390)])
ENDED = re.compile(r"^(Done|Stopped)")
SWITCHES = (
    *("--disable-dev-shm-usage", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"),
    "--enable-features=WebMachineLearningNeuralNetwork",
)


class Tab:
    """One page with all that it complained about."""

    def __init__(self, browser, url: str, scheme: str = "light", width: int = 1280) -> None:
        size = {"width": width, "height": 900}
        self.context = browser.new_context(
            color_scheme=scheme, viewport=size, ignore_https_errors=True
        )
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("requestfailed", lambda request: self.complaints.append(request.url))
        self.page.goto(url)
        self.status = self.page.locator("#status")
        self.status.get_by_text("Choose what is measured").wait_for(timeout=60_000)

    def measure(self, backend: str, threads: str | None = None) -> str:
        """The text of the newest result on that backend, after the shortest measurement."""
        self.page.locator(f"[name=backend][value={backend}]").check()
        self.page.locator("[name=model]").first.check()
        self.page.locator("#seconds").select_option("3")
        if threads:
            self.page.locator("#threads").select_option(threads)
        self.page.get_by_role("button", name="Measure").click()
        self.status.filter(has_text=ENDED).wait_for(timeout=120_000)
        return self.page.locator(".result").first.inner_text()


@pytest.fixture(scope="module")
def browser() -> Iterator:
    playwright = pytest.importorskip("playwright.sync_api")
    own = WEB_FOLDER / "chromium" / "chromium"
    chromium = str(own) if own.is_file() else shutil.which("chromium")
    if chromium is None:
        lacking("a browser is missing: `make browser`")
    sandbox = [] if os.geteuid() else ["--no-sandbox"]
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=[*SWITCHES, *sandbox])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def url(page_graph: PageGraph) -> Iterator[str]:
    with serving(page_content([page_graph])) as server:
        yield server.url


@pytest.fixture
def tab(browser, url: str) -> Iterator[Tab]:
    tab = Tab(browser, url)
    yield tab
    assert tab.complaints == []
    tab.context.close()


@pytest.mark.parametrize(
    ("backend", "threads", "words"),
    [
        ("wasm", "1", ["wasm · fp32 · batch 2 · 1 thread"]),
        pytest.param("wasm", "2", ["2 threads"], marks=pytest.mark.nightly),
        pytest.param("webnn", None, ["webnn · fp32"], marks=pytest.mark.nightly),
        pytest.param(
            *("webgpu", None),
            ["webgpu · fp32", "computes on the CPU: its times say nothing of a GPU"],
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_a_model_is_measured_on_each_backend_and_import_takes_the_download(
    tab: Tab, backend: str, threads: str | None, words: list[str], tmp_path: Path
) -> None:
    if tab.page.locator(f"[name=backend][value={backend}]").is_disabled():
        lacking(f"a browser with {backend}")
    if threads and not tab.page.locator(f"#threads option[value='{threads}']").count():
        lacking(f"{threads} processors")
    result = tab.measure(backend, threads)
    assert re.search(r"^\d[\d.]* ms$", result, re.MULTILINE)
    assert re.search(r"95 % interval [\d.]+ ms to [\d.]+ ms", result)
    for text in words:
        assert text in result
    assert tab.page.get_by_role("img", name="durations from").locator("rect").count() > 2
    with tab.page.expect_download() as download:
        tab.page.get_by_role("button", name="Download").click()
    assert re.fullmatch(r"accelmatrix-page-[\dT-]+\.json", download.value.suggested_filename)
    file = tmp_path / "download.json"
    download.value.save_as(file)
    (measurement,) = read_file(file, FORMATS).reading.measurements
    content = json.loads(file.read_text())["results"][0]
    assert (measurement.model, measurement.backend, measurement.status) == (KEY, backend, "ok")
    assert measurement.batch_size == 2
    assert len(measurement.durations_ns or ()) == measurement.iterations
    assert measurement.latency_median_s == pytest.approx(content["median_ms"] / 1000)
    lower, upper = content["interval_ms"]
    assert lower <= content["median_ms"] <= upper


def test_the_keyboard_suffices(tab: Tab) -> None:
    keyboard = tab.page.keyboard
    focused = "document.activeElement.id || document.activeElement.name"
    keyboard.press("Tab")
    assert tab.page.evaluate("document.activeElement.className") == "skip"
    keyboard.press("Tab")
    assert tab.page.evaluate(focused) == "backend"
    keyboard.press("Tab")
    assert tab.page.evaluate(focused) == "model"
    keyboard.press("Space")  # it was chosen, as the only one
    keyboard.press("Enter")
    assert tab.status.inner_text() == "Choose a model first."
    keyboard.press("Space")
    keyboard.press("Enter")
    tab.status.get_by_text("warming up").or_(tab.status.get_by_text("measuring")).wait_for()
    assert tab.page.evaluate(focused) == "stop"
    keyboard.press("Enter")
    tab.status.filter(has_text=re.compile("^Stopped")).wait_for()
    assert tab.page.evaluate(focused) == "measure"


def test_a_model_that_cannot_be_loaded_is_a_failure_with_its_reason(tab: Tab) -> None:
    tab.page.route("**/graphs/*", lambda route: route.fulfill(status=200, body="no graph"))
    result = tab.measure("wasm")
    assert tab.status.inner_text() == "Done: 0 models of 1 measured."
    assert "protobuf" in result.lower()


@pytest.mark.parametrize(("scheme", "width"), SCREENS)
def test_no_screen_has_barriers(browser, url: str, scheme: str, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    tab = Tab(browser, url, scheme, width)
    tab.measure("wasm")
    violations = axe.Axe().run(tab.page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in violations] == []
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.complaints == []
    tab.context.close()
