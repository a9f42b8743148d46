"""A head's address, tried before Ray's library is told of it: the library waits there for a day."""

import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from runner.contract.errors import Unavailable

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""The first bytes of a client of gRPC, with settings that are empty (RFC 9113, section 3.4)."""
_SETTINGS = 4
"""The type of the frame with which a server answers; it stands after three bytes of a length."""
_TLS_FILES = ("RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY", "RAY_TLS_CA_CERT")


def require_answer(address: str, limit_s: float = 5.0) -> None:
    """Check that a head answers at this address, in plain text or by TLS as the variables say.

    Raises:
        Unavailable: nothing listens there, the address is none, or TLS is used by one side alone.
    """
    host, _, port = address.rpartition(":")
    try:
        if not host or not 0 < int(port) < 1 << 16:
            raise ValueError
    except ValueError as error:
        raise Unavailable(
            f"{address!r} is no address of a head", hint="it looks like 192.0.2.7:6479"
        ) from error
    try:
        with socket.create_connection((host, int(port)), limit_s) as plain:
            if not _speaks_grpc(plain):
                raise Unavailable(
                    f"{address}: what listens there does not answer as Ray's head does,"
                    f" {'by TLS' if _uses_tls() else 'in plain text'}",
                    hint="the variables of TLS must be the same on all machines:"
                    " docs/fleet-security.md",
                )
    except OSError as error:
        reason = error.strerror or str(error)
        raise Unavailable(
            f"no head answers at {address}: {reason}",
            hint="`orchestrator fleet up` on that machine starts one; a firewall may be between",
        ) from error


def _speaks_grpc(plain: socket.socket) -> bool:
    try:
        with _secured(plain) as stream:
            stream.sendall(_PREFACE)
            head = stream.makefile("rb").read(4)
    except (TimeoutError, ConnectionError, ssl.SSLError):
        return False
    return len(head) == 4 and head[3] == _SETTINGS


@contextmanager
def _secured(plain: socket.socket) -> Iterator[socket.socket]:
    """The connection as Ray would use it; the name in the certificate is left to Ray."""
    if not _uses_tls():
        yield plain
        return
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.set_alpn_protocols(["h2"])
    certificate, key, authority = (os.environ.get(name, "") for name in _TLS_FILES)
    try:
        context.load_cert_chain(certificate, key)
        context.load_verify_locations(authority)
    except OSError as error:
        raise Unavailable(
            f"{', '.join(_TLS_FILES)}: {error.strerror or error}",
            hint="they name files of PEM; docs/fleet-security.md tells of them",
        ) from error
    with context.wrap_socket(plain) as stream:
        yield stream


def _uses_tls() -> bool:
    return os.environ.get("RAY_USE_TLS", "0").lower() in {"1", "true"}  # as Ray reads it
