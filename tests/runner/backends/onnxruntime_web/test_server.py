"""The server of a page: what it gives, to whom, and what it takes."""

import http.client
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from runner.backends.onnxruntime_web.page import PageServer


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
