"""A web server for one page: an exact list of addresses behind a token, and nothing else.

On loopback it speaks HTTP, which browsers take as secure there; elsewhere TLS, without which they
give a page neither WebGPU nor threads.
"""

import hashlib
import ipaddress
import re
import secrets
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import AF_INET6, gaierror
from tempfile import TemporaryDirectory
from typing import Any

from orchestrator.server.content import ServedContent
from runner.contract.errors import UsageError
from runner.contract.web import ISOLATION

_DAYS = 7
_OPENSSL_S = 30
_WITHOUT = "`--host 127.0.0.1` needs no certificate, for a browser on this machine"


@contextmanager
def new_certificate(host: str) -> Iterator[tuple[ssl.SSLContext, str]]:
    """A certificate, and its SHA-256 as browsers show it; its key is removed in the end."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise UsageError(f"--host {host} needs openssl, which is not installed here", hint=_WITHOUT)
    with TemporaryDirectory(prefix="accelmatrix-") as folder:
        key, file = Path(folder, "key.pem"), Path(folder, "certificate.pem")
        try:
            subject = f"IP:{ipaddress.ip_address(host)}"
        except ValueError:
            subject = f"DNS:{host}"
        command = [
            *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt"),
            *("ec_paramgen_curve:prime256v1", "-nodes", "-sha256", "-days", str(_DAYS)),
            *("-subj", "/CN=AccelMatrix", "-addext", f"subjectAltName={subject}"),
            *("-addext", "extendedKeyUsage=serverAuth", "-keyout", str(key), "-out", str(file)),
        ]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=_OPENSSL_S)
        except (OSError, subprocess.SubprocessError) as error:
            reason = str(error)
            if isinstance(error, subprocess.CalledProcessError):
                lines = error.stderr.decode(errors="replace").strip().splitlines()
                reason = lines[-1] if lines else "no reason given"
            message = f"--host {host}: openssl makes no certificate: {reason}"
            raise UsageError(message, hint=_WITHOUT) from error
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(file, key)
        certificate = ssl.PEM_cert_to_DER_cert(file.read_text("ascii"))
        yield context, hashlib.sha256(certificate).digest().hex(":").upper()


LOOPBACK = "127.0.0.1"
_TIMEOUT_S = 60
_POLL_S = 0.1
_HEADERS: Mapping[str, str] = {
    **ISOLATION,
    "Content-Security-Policy": "default-src 'none'; script-src 'self' 'unsafe-eval'; "
    "worker-src 'self' blob:; connect-src 'self'; style-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_TEXT = "text/plain; charset=utf-8"
_FORBIDDEN = ServedContent(_TEXT, b"Open the whole address that the server has printed.\n")
_NOT_FOUND = ServedContent(_TEXT, b"There is nothing at this address.\n")
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_EXAMPLE = "give this machine's own address in your network, such as 192.168.1.20"


@dataclass(frozen=True)
class Serving:
    """A server at work."""

    url: str
    fingerprint: str | None
    """SHA-256 of its certificate; None without TLS."""


@contextmanager
def serving(
    content: Mapping[str, ServedContent], host: str = LOOPBACK, port: int = 0
) -> Iterator[Serving]:
    """Serve that content, by address, until the context ends; port 0 takes a free one.

    Raises:
        UsageError: it is no address of this machine, the port is taken, or there is no openssl.
    """
    loopback = _is_loopback(host)
    with nullcontext() if loopback else new_certificate(host) as certificate:
        context, fingerprint = certificate or (None, None)
        server = _listen(host, port, content, context)
        thread = threading.Thread(target=server.serve_forever, args=(_POLL_S,), daemon=True)
        thread.start()
        scheme, name = ("http" if loopback else "https"), f"[{host}]" if ":" in host else host
        try:
            url = f"{scheme}://{name}:{server.server_port}/{server.token}/"
            yield Serving(url, fingerprint)
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        if not _NAME.fullmatch(host):
            raise UsageError(f"--host: {host!r} is no address or name", hint=_EXAMPLE) from None
        return host == "localhost"
    if address.is_unspecified:
        raise UsageError(f"--host: {host} is not an address that a browser can open", hint=_EXAMPLE)
    return address.is_loopback


def _listen(
    host: str, port: int, content: Mapping[str, ServedContent], context: ssl.SSLContext | None
) -> "_Server":
    kind = _Server6 if ":" in host else _Server
    try:
        server = kind((host, port), _Handler)
    except (OSError, OverflowError, gaierror) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"--host {host} --port {port}: {reason}", hint=_EXAMPLE) from error
    server.token, server.content = secrets.token_urlsafe(16), content
    if context is not None:
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    return server


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    token: str
    content: Mapping[str, ServedContent]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of browsers that went away or distrust the certificate."""


class _Server6(_Server):
    address_family = AF_INET6


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _TIMEOUT_S
    server: _Server

    def do_GET(self) -> None:
        status, content = self._wanted()
        self._begin(status, content)
        if isinstance(content.source, bytes):
            self.wfile.write(content.source)
            return
        with content.source.open("rb") as file:
            shutil.copyfileobj(file, self.wfile, 1 << 20)

    def do_HEAD(self) -> None:
        self._begin(*self._wanted())

    def handle(self) -> None:
        with suppress(ssl.SSLError, ConnectionError, TimeoutError):
            super().handle()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Say nothing."""

    def _wanted(self) -> tuple[HTTPStatus, ServedContent]:
        """403 without the token; 404 for what is not on the list, whatever the path says."""
        _, token, address = [*self.path.partition("?")[0].split("/", 2), "", ""][:3]
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            return HTTPStatus.FORBIDDEN, _FORBIDDEN
        content = self.server.content.get(address)
        return (HTTPStatus.OK, content) if content else (HTTPStatus.NOT_FOUND, _NOT_FOUND)

    def _begin(self, status: HTTPStatus, content: ServedContent) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", content.type)
        self.send_header("Content-Length", str(content.length))
        self.end_headers()

    def version_string(self) -> str:
        return "AccelMatrix"
