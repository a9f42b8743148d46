"""The server of one page: the token, the exact list, isolation, and TLS beyond loopback."""

import hashlib
import http.client
import shutil
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from orchestrator.server.content import ServedContent
from orchestrator.server.web_server import Serving, serving
from runner.contract.errors import UsageError
from tests.support.needs import lacking

CONTENT = {
    "": ServedContent("text/html; charset=utf-8", b"page"),
    "shared/queries.mjs": ServedContent("text/javascript; charset=utf-8", b"script"),
}
TOKEN = "the token"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("served")
    graph = folder / "forward.onnx"
    graph.write_bytes(b"graph" * 1000)
    (folder / "secret").write_text("secret")
    with serving({**CONTENT, "graphs/0": ServedContent("any", graph)}) as server:
        yield server


def ask(url: str, path: str, method: str = "GET") -> tuple[int, bytes, http.client.HTTPMessage]:
    """The answer for a path as it stands; `the token` stands for that of the address."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    connection.request(method, path.replace(TOKEN, parts.path.strip("/")))
    answer = connection.getresponse()
    return answer.status, answer.read(), answer.headers


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/the token/", 200, b"page"),
        ("/the token/shared/queries.mjs?threads=2", 200, b"script"),
        ("/the token/graphs/0", 200, b"graph" * 1000),
        ("/", 403, None),
        (f"/{'x' * 22}/graphs/0", 403, None),
        ("the token", 403, None),
        ("/the token/../the token/secret", 404, None),
        ("/the token/graphs/../secret", 404, None),
        ("/the token/graphs/..%2fsecret", 404, None),
        ("/the token/graphs/1", 404, None),
    ],
)
def test_only_the_list_is_served_and_only_with_the_token(
    server: Serving, path: str, status: int, body: bytes | None
) -> None:
    got, content, _ = ask(server.url, path)
    assert got == status
    assert content == body if body else b"secret" not in content


def test_pages_are_isolated_and_leave_no_address_behind(server: Serving) -> None:
    _, body, headers = ask(server.url, "/the token/shared/queries.mjs", "HEAD")
    assert body == b""
    assert headers["Content-Length"] == "6"
    assert headers["Content-Type"].startswith("text/javascript")
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["Cross-Origin-Embedder-Policy"] == "require-corp"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "Python" not in headers["Server"]


def test_nothing_is_taken(server: Serving) -> None:
    assert ask(server.url, "/the token/", "POST")[0] == 501


def test_loopback_has_no_certificate_and_every_server_its_own_token() -> None:
    with serving(CONTENT) as one, serving(CONTENT) as other:
        assert one.url.startswith("http://127.0.0.1:")
        assert one.fingerprint is None
        assert urlsplit(one.url).path != urlsplit(other.url).path


def own_address() -> str:
    """An address of this machine beside loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            lacking("a network")
        return str(probe.getsockname()[0])


def test_another_address_has_tls_and_tells_the_certificate_s_fingerprint() -> None:
    if shutil.which("openssl") is None:
        lacking("openssl")
    host = own_address()
    with serving(CONTENT, host) as server:
        assert server.url.startswith(f"https://{host}:")
        port = urlsplit(server.url).port or 0
        pem = ssl.get_server_certificate((host, port), timeout=10)
        der = ssl.PEM_cert_to_DER_cert(pem)
        assert server.fingerprint == hashlib.sha256(der).digest().hex(":").upper()
        context = ssl.create_default_context(cadata=pem)  # its name is checked too
        connection = http.client.HTTPSConnection(host, port, timeout=10, context=context)
        connection.request("GET", urlsplit(server.url).path)
        assert connection.getresponse().read() == b"page"
        with pytest.raises((http.client.HTTPException, OSError)):
            ask(f"http://{host}:{port}/", "/")


def test_an_open_connection_without_a_handshake_stops_nobody() -> None:
    if shutil.which("openssl") is None:
        lacking("openssl")
    host = own_address()
    with serving(CONTENT, host) as server:
        port = urlsplit(server.url).port or 0
        with socket.create_connection((host, port), timeout=10):
            assert ssl.get_server_certificate((host, port), timeout=10)


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("0.0.0.0", "0.0.0.0 is not an address that a browser can open"),
        ("phone/../x", "'phone/../x' is no address or name"),
        ("a,DNS:b", "'a,DNS:b' is no address or name"),
        ("192.0.2.77", "--host 192.0.2.77 --port 0: Cannot assign requested address"),
    ],
)
def test_an_address_that_cannot_be_served_is_refused(host: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as refusal, serving(CONTENT, host):
        pass
    assert "192.168.1.20" in str(refusal.value.hint)


def test_a_port_that_is_taken_is_named() -> None:
    with serving(CONTENT) as server:
        port = urlsplit(server.url).port or 0
        with (
            pytest.raises(UsageError, match=f"--port {port}: Address already in use"),
            serving(CONTENT, port=port),
        ):
            pass


def test_without_openssl_the_way_on_loopback_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    message = "needs openssl, which is not installed here"
    with pytest.raises(UsageError, match=message) as refusal, serving(CONTENT, "192.0.2.77"):
        pass
    assert "--host 127.0.0.1" in str(refusal.value.hint)
