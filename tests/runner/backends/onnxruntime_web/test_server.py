"""The server of a page: what it gives, to whom, and what it takes."""

import http.client
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from runner.backends.onnxruntime_web.server import PageServer
from runner.contract.errors import Unavailable
from tests.support.words import raises_words


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


def test_pages_are_isolated_and_scripts_are_scripts(server: PageServer) -> None:
    answer = ask(f"{server.url}/page/page.mjs")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/javascript")
    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert answer.headers["Cross-Origin-Embedder-Policy"] == "require-corp"
    assert ask(f"{server.url}/runtime/ort.wasm.min.mjs").read() == b"runtime"


def test_nothing_else_is_served(server: PageServer) -> None:
    outside = "/runtime/..%2f..%2fetc%2fpasswd"
    for path in ("/page/../server.py", "/page/", "/files/1", "/arrays/1", outside):
        assert ask(f"{server.url}{path}").status == 404, path


def test_a_port_that_is_taken_is_named(server: PageServer, tmp_path: Path) -> None:
    port = urlsplit(server.url).port or 0
    with raises_words(Unavailable, match=f"cannot have port {port} of 127.0.0.1: Address already"):
        PageServer(tmp_path, port)


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


def test_outputs_come_back_by_name_once(server: PageServer) -> None:
    address = server.outputs_address()
    assert ask(f"{address}/last_hidden_state%2Fx", "POST", b"\x01\x02").status == 204
    assert server.take(address, "last_hidden_state/x") == b"\x01\x02"
    with pytest.raises(KeyError):
        server.take(address, "last_hidden_state/x")


def test_a_file_is_served_whole(server: PageServer, tmp_path: Path) -> None:
    file = tmp_path / "forward.onnx"
    file.write_bytes(b"graph" * 1000)
    assert ask(server.add_file(file)).read() == file.read_bytes()
