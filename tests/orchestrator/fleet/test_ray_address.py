"""A head's address: what answers there is tried before Ray's library waits for it."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread

import pytest

from orchestrator.fleet.transports.ray_address import require_answer
from runner.contract.errors import Unavailable
from tests.support.words import raises_words

SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""The first frame of a server of gRPC."""


@contextmanager
def answering(words: bytes | None) -> Iterator[str]:
    """The address of a listener that says this and hangs up, or nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection, suppress(ConnectionError):
                connection.recv(100)
                if words is not None:
                    connection.sendall(words)
                connection.recv(100)

        Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.delenv("RAY_USE_TLS", raising=False)
    return monkeypatch


def test_a_server_of_grpc_is_taken() -> None:
    with answering(SETTINGS) as address:
        require_answer(address)


@pytest.mark.parametrize(
    "words", [b"HTTP/1.1 400 Bad Request\r\n", b"\x15\x03\x03\x00\x02", b"", None]
)
def test_anything_else_is_refused_at_once(words: bytes | None) -> None:
    with (
        answering(words) as address,
        raises_words(Unavailable, match=r"does not answer as Ray's head does, in plain text"),
    ):
        require_answer(address, 0.2)


def test_files_of_tls_that_are_not_there_are_named(variables: pytest.MonkeyPatch) -> None:
    variables.setenv("RAY_USE_TLS", "1")
    with (
        answering(SETTINGS) as address,
        raises_words(Unavailable, match=r"RAY_TLS_SERVER_CERT.*No such file"),
    ):
        require_answer(address)
