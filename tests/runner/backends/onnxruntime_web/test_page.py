"""The server of a page: what it gives and takes; and the memory that a page in a browser holds."""

import http.client
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from runner.backends.onnxruntime_web.browser import started_browser
from runner.backends.onnxruntime_web.page import PageServer, WebPage


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PageServer]:
    (tmp_path / "ort.wasm.min.mjs").write_text("runtime")
    server = PageServer(tmp_path)
    yield server
    server.close()


def ask(url: str, method: str = "GET", body: bytes = b"") -> http.client.HTTPResponse:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    connection.request(method, parts.path, body)
    return connection.getresponse()


def test_nothing_else_is_served(server: PageServer) -> None:
    outside = "/runtime/..%2f..%2fetc%2fpasswd"
    for path in ("/page/../page.py", "/page/", "/files/1", "/arrays/1", outside):
        assert ask(f"{server.url}{path}").status == 404, path


def test_who_does_not_know_the_secret_gets_nothing_and_leaves_nothing(server: PageServer) -> None:
    parts = urlsplit(server.url)
    address = f"http://{parts.netloc}"
    assert ask(f"{address}/page/page.mjs").status == 404
    assert ask(f"{address}/{'x' * 22}/page/page.mjs").status == 404
    assert ask(f"{address}/{'x' * 22}/outputs/1/logits", "POST", b"1").status == 404


def test_arrays_go_to_the_page_until_they_are_forgotten(server: PageServer) -> None:
    array = np.arange(6, dtype=np.int64).reshape(2, 3)
    url = server.add_array(array.T)
    assert ask(url).read() == array.T.tobytes()
    server.forget()
    assert ask(url).status == 404


PAGE = 1 << 16
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


@pytest.mark.slow
def test_buffers_of_a_gpu_count_until_they_are_destroyed(page: WebPage) -> None:
    memory = evaluated(page, BUFFERS)
    assert (memory["gpu"], memory["gpu_peak"]) == (1024 + 256, 4096 + 1024)


@pytest.mark.slow
def test_memories_count_with_what_they_have_grown_by(page: WebPage) -> None:
    memory = evaluated(page, MEMORIES)
    assert memory["is_one"]
    assert memory["grown"] == 3 * PAGE
    assert memory["before"] > 100 * PAGE  # the runtime's own


@pytest.mark.slow
def test_stages_of_loading_are_told_by_browser_and_page(page: WebPage) -> None:
    assert min(page.browser.launch_ns, page.load_ns, page.import_ns) > 10**6
