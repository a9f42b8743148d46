"""The memory that a page holds, counted in a real browser."""

from collections.abc import Iterator
from typing import Any

import pytest

from runner.backends.onnxruntime_web.browser import started_browser
from runner.backends.onnxruntime_web.page import WebPage

pytestmark = pytest.mark.slow
PAGE = 1 << 16
"""Bytes of a page of WebAssembly's memory."""
BUFFERS = """async () => {
    const device = await (await navigator.gpu.requestAdapter()).requestDevice();
    const make = (size) => device.createBuffer({ size, usage: GPUBufferUsage.STORAGE });
    const [first] = [make(4096), make(1024)];
    first.destroy();
    first.destroy();
    make(256);
    return window.runner.memory();
}"""
MEMORIES = """() => {
    const before = window.runner.memory().wasm;
    window.kept = new WebAssembly.Memory({ initial: 1, maximum: 9 });
    window.kept.grow(2);
    return { grown: window.runner.memory().wasm - before, before,
             is_one: window.kept instanceof WebAssembly.Memory };
}"""


@pytest.fixture(scope="module")
def page() -> Iterator[WebPage]:
    with started_browser("webgpu", software=True) as browser:
        page = WebPage(browser, "webgpu", 1)
        yield page
        page.close()


def evaluated(page: WebPage, script: str) -> Any:
    (tab,) = page.browser.browser.contexts[0].pages
    return tab.evaluate(script)


def test_buffers_of_a_gpu_count_until_they_are_destroyed(page: WebPage) -> None:
    memory = evaluated(page, BUFFERS)
    assert (memory["gpu"], memory["gpu_peak"]) == (1024 + 256, 4096 + 1024)


def test_memories_count_with_what_they_have_grown_by(page: WebPage) -> None:
    memory = evaluated(page, MEMORIES)
    assert memory["is_one"]
    assert memory["grown"] == 3 * PAGE
    assert memory["before"] > 100 * PAGE  # the runtime's own


def test_stages_of_loading_are_told_by_browser_and_page(page: WebPage) -> None:
    assert min(page.browser.launch_ns, page.load_ns, page.import_ns) > 10**6
