"""The page in a real browser, opened from disk without a network: one launch for everything."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.orchestrator.commands.conftest import EARLIER
from tests.support.command_line import call
from tests.support.needs import lacking
from tests.support.siblings import siblings

pytestmark = pytest.mark.slow
SCREENS = [(scheme, width) for scheme in ("light", "dark") for width in (1280, 390)]
RESULTS = "#results table"
MEDIAN = "median, ms"


class Tab:
    """One page with all that it complained about or asked for."""

    def __init__(self, browser, page_url: str, scheme: str = "light", width: int = 1280) -> None:
        size = {"width": width, "height": 900}
        self.context = browser.new_context(color_scheme=scheme, viewport=size, offline=True)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(page_url)
        self.page.locator("figure").first.scroll_into_view_if_needed()
        self.page.wait_for_selector("figure svg")

    def _heard(self, message) -> None:
        if message.type == "error" or "Content Security Policy" in message.text:
            self.complaints.append(message.text)

    def column(self, heading: str) -> list[str]:
        """The texts of a column of the results that are shown."""
        return self.page.evaluate(
            """([table, heading]) => {
              const shown = document.querySelector(table);
              const heads = [...shown.tHead.rows[0].cells].map((cell) => cell.textContent);
              const rows = [...shown.tBodies[0].rows].filter((row) => !row.hidden);
              return rows.map((row) => row.cells[heads.indexOf(heading)].textContent);
            }""",
            [RESULTS, heading],
        )


@pytest.fixture(scope="module")
def browser() -> Iterator:
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        lacking("a browser: `apt-get install chromium`")
    with playwright.sync_playwright() as driver:
        sandbox = [] if os.geteuid() else ["--no-sandbox"]
        browser = driver.chromium.launch(executable_path=chromium, args=sandbox)
        yield browser
        browser.close()


def written(reported: Path, folder: Path, *words: str) -> str:
    """The address of the page of a report."""
    path = folder / f"{words[0]}.html"
    arguments = ("report", *words, "--output", str(path), "--database", str(reported))
    done = call(*arguments, folder=folder, environment={})
    assert done.returncode == 0, done.stderr
    return path.as_uri()


@pytest.fixture(scope="module")
def page_url(reported: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(reported, tmp_path_factory.mktemp("page"), "run")


@pytest.fixture(scope="module")
def regression_url(reported: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("regression")
    return written(reported, folder, "regression", "--baseline", str(EARLIER["run_id"]))


@pytest.fixture(scope="module")
def tab(browser, page_url: str) -> Iterator[Tab]:
    """A page for all that a reader does one after the other: drawing it takes longest."""
    tab = Tab(browser, page_url)
    yield tab
    assert tab.complaints == []
    assert tab.requests == [page_url]
    assert "hacked" not in tab.page.title()
    tab.context.close()


def test_headings_sort_by_number_and_tell_how(tab: Tab) -> None:
    head = tab.page.locator(f"{RESULTS} th", has_text=MEDIAN)
    head.get_by_role("button").click()
    numbers = [float(text) for text in tab.column(MEDIAN)]
    assert numbers == sorted(numbers)
    assert head.get_attribute("aria-sort") == "ascending"
    head.get_by_role("button").press("Enter")
    assert [float(text) for text in tab.column(MEDIAN)] == sorted(numbers, reverse=True)
    assert head.get_attribute("aria-sort") == "descending"


def test_rows_are_found_by_words_and_choices(tab: Tab) -> None:
    everything = len(tab.column("model"))
    tools = tab.page.locator("#results .tools")
    tools.get_by_role("searchbox").fill("onnxruntime cpu")
    assert set(tab.column("runtime")) == {"onnxruntime"}
    assert f"of {everything} rows" in tools.locator("output").inner_text()
    tools.get_by_role("searchbox").fill("nothing like it")
    assert tab.column("runtime") == []
    tools.get_by_role("searchbox").fill("")
    tools.get_by_label("backend").select_option(label="openvino")
    assert set(tab.column("backend")) == {"openvino"}
    tools.get_by_label("backend").select_option(index=0)
    assert len(tab.column("model")) == everything


def test_a_number_shows_what_is_behind_it_to_mouse_and_keyboard(tab: Tab) -> None:
    detail = tab.page.locator("#detail")
    first = tab.page.locator(f"{RESULTS} td button").first
    first.hover()
    detail.wait_for(state="visible")
    text = detail.inner_text()
    assert "95 % interval" in text
    assert "timed durations" in text
    assert detail.locator("svg circle").count() > 60
    tab.page.mouse.move(5, 5)
    detail.wait_for(state="hidden")
    first.focus()
    tab.page.keyboard.press("ArrowRight")
    tab.page.keyboard.press("ArrowDown")
    chosen = tab.page.evaluate("document.activeElement.dataset.detail")
    assert chosen not in (None, first.get_attribute("data-detail"))
    tab.page.keyboard.press("Enter")
    detail.wait_for(state="visible")
    assert "proven" in detail.inner_text()
    tab.page.keyboard.press("Escape")
    detail.wait_for(state="hidden")
    assert tab.page.evaluate("document.activeElement.dataset.detail") == chosen


def test_charts_tell_their_numbers_under_the_mouse(tab: Tab) -> None:
    chart = tab.page.locator("figure", has=tab.page.locator("svg")).first
    chart.locator("svg .mark-symbol path").first.hover()
    tooltip = tab.page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for()
    assert tooltip.inner_text().strip()


def test_a_step_and_a_run_of_a_judged_series_tell_what_they_are(
    browser, regression_url: str
) -> None:
    tab = Tab(browser, regression_url)
    tooltip = tab.page.locator("#vg-tooltip-element.visible")
    series = tab.page.locator("#series figure", has_text="Regression, +25 %")
    marks = series.locator("svg .mark-symbol path")
    tab.page.emulate_media(reduced_motion="reduce")
    series.scroll_into_view_if_needed()
    marks.first.wait_for()
    texts = []
    for mark in marks.all():
        tab.page.mouse.move(5, 5)
        tooltip.wait_for(state="hidden")
        mark.hover(force=True)
        tooltip.wait_for()
        texts.append(tooltip.inner_text())
    assert any("20261101-120000-aaaa" in text and "baseline" in text for text in texts)
    assert any("nobody accepted it" in text for text in texts)
    assert tab.complaints == []
    assert tab.requests == [regression_url]
    assert "hacked" not in tab.page.title()
    tab.context.close()


@pytest.mark.parametrize(
    ("address", "scheme", "width"),
    siblings(
        ((address, *screen) for address in ("page_url", "regression_url") for screen in SCREENS),
        keep=[("page_url", "dark", 390), ("regression_url", "light", 1280)],
    ),
)
def test_no_screen_has_barriers(
    browser, request: pytest.FixtureRequest, address: str, scheme: str, width: int
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    tab = Tab(browser, request.getfixturevalue(address), scheme, width)
    tab.page.locator(f"{RESULTS} td button").first.click()
    found = axe.Axe().run(tab.page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.complaints == []
    tab.context.close()


def test_paper_shows_all_rows_and_no_tools(tab: Tab) -> None:
    tab.page.emulate_media(media="print")
    tab.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert not tab.page.locator("#results .tools").is_visible()
    ground = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
