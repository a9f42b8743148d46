"""The container engine: its address, a connection to it, and its failures as our errors."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import requests
import urllib3
from docker import DockerClient
from docker.context import ContextAPI
from docker.errors import APIError, DockerException
from docker.utils import kwargs_from_env

from runner.contract.errors import EngineUnavailable
from runner.contract.reasons import reason

CALL_TIMEOUT_S = 60
ANSWER_TIMEOUT_S = 2
_HINT = (
    "start the engine or set DOCKER_HOST or DOCKER_CONTEXT; `--launcher process` needs no engine"
)

ENGINE_FAILURES = (
    DockerException,
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    ConnectionError,
    TimeoutError,
)
"""The exceptions of the docker SDK when an engine refuses or goes away."""


def connect_engine(timeout_s: int = CALL_TIMEOUT_S) -> DockerClient:
    """A client of the engine that `docker` itself would use.

    That is DOCKER_HOST, else DOCKER_CONTEXT, else the current context of docker's configuration.
    """
    arguments, address = _endpoint()
    with engine_errors(f"no container engine answers at {address}"):
        return DockerClient(**arguments, version="auto", timeout=timeout_s, use_ssh_client=True)


def engine_answers(timeout_s: int = ANSWER_TIMEOUT_S) -> bool:
    try:
        client = connect_engine(timeout_s)
    except EngineUnavailable:
        return False
    client.close()
    return True


@contextmanager
def engine_errors(attempt: str) -> Iterator[None]:
    """Turn the docker SDK's failures into EngineUnavailable; `attempt` begins its message."""
    try:
        yield
    except ENGINE_FAILURES as error:
        hint = None if isinstance(error, APIError) else _HINT
        raise EngineUnavailable(
            reason("engine_attempt_failed", attempt=attempt, error=engine_message(error)), hint=hint
        ) from error


def engine_message(error: BaseException) -> str:
    text = error.explanation if isinstance(error, APIError) else None
    lines = str(text or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _endpoint() -> tuple[dict[str, Any], str]:
    with engine_errors("DOCKER_HOST, DOCKER_TLS_VERIFY or DOCKER_CERT_PATH"):
        arguments: dict[str, Any] = {**kwargs_from_env()}
    if "base_url" in arguments:
        return arguments, f"DOCKER_HOST={arguments['base_url']}"
    name = os.environ.get("DOCKER_CONTEXT") or None
    label = f"docker context {name!r}" if name else "the current docker context"
    try:
        context = ContextAPI.get_context(name)
    except Exception as error:  # the SDK raises bare Exception for a damaged context
        raise EngineUnavailable(
            reason("engine_failed", engine=label, error=engine_message(error))
        ) from error
    if context is None:
        # The SDK finds contexts only beside a config.json.
        raise EngineUnavailable(reason("docker_context_missing", context=label))
    arguments["base_url"] = context.Host
    if context.TLSConfig is not None:
        arguments["tls"] = context.TLSConfig
    return arguments, f"{context.Host} (docker context {context.name})"
