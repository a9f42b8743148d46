"""Options of a run in the words of a command line: images and labels."""

import re
from collections.abc import Iterable, Mapping
from typing import get_args

from pydantic import TypeAdapter, ValidationError

from orchestrator.backends.catalogue import CATALOGUE, real_backends
from orchestrator.running.options import ImageReference
from orchestrator.system.problems import not_one_of
from runner.contract.axes import Backend
from runner.contract.errors import UsageError

_KEY = re.compile(r"[A-Za-z][\w.-]{0,62}", re.ASCII)
_MOST_LETTERS = 500
_REFERENCE = TypeAdapter(ImageReference)


def chosen_images(words: Iterable[str]) -> dict[Backend, str]:
    """The images in the words of `--image`, `BACKEND=REFERENCE`.

    Raises:
        UsageError: there is no such backend, it uses no image, or that is no name of one.
    """
    return dict(map(_chosen_image, words))


def _chosen_image(word: str) -> tuple[Backend, str]:
    name, _, reference = word.partition("=")
    backend = next((known for known in get_args(Backend) if known == name), None)
    if backend is None:
        raise UsageError(
            f"--image {word!r}: {not_one_of(name, real_backends())}",
            hint="write BACKEND=REFERENCE, e.g. cpu=ghcr.io/somebody/accelmatrix-cpu:1.0",
        )
    if CATALOGUE[backend].image is None:
        raise UsageError(f"--image {word!r}: no container can reach a device of {backend}")
    try:
        return backend, _REFERENCE.validate_python(reference)
    except ValidationError as error:
        raise UsageError(
            f"--image {word!r}: {reference!r} is no name of an image",
            hint="write it as `docker pull` takes it: registry/name:tag or registry/name@sha256:…",
        ) from error


def given_labels(words: Iterable[str], ours: Mapping[str, str]) -> dict[str, str]:
    """The labels in the words of `--label`, `KEY=VALUE`, after those of the CI job around us.

    Raises:
        UsageError: a word is none.
    """
    return {**ci_labels(ours), **dict(map(_label, words))}


def _label(word: str) -> tuple[str, str]:
    key, separator, value = word.partition("=")
    if not separator or not _KEY.fullmatch(key):
        raise UsageError(
            f"--label {word!r} is not KEY=VALUE",
            hint="a key has letters, digits and `_.-`, and begins with a letter",
        )
    if len(value) > _MOST_LETTERS or not value.isprintable():
        raise UsageError(
            f"--label {key}: its value is no line of at most {_MOST_LETTERS} letters",
            hint="keep longer texts elsewhere and give their address",
        )
    return key, value


def ci_labels(ours: Mapping[str, str]) -> dict[str, str]:
    """Commit, ref and address of the job of GitHub Actions or GitLab CI whose variables these are.

    The names of variables are those in the documentation of both.
    """
    if ours.get("GITHUB_ACTIONS") == "true":
        server, repository = ours.get("GITHUB_SERVER_URL"), ours.get("GITHUB_REPOSITORY")
        address = f"{server}/{repository}/actions/runs/{ours.get('GITHUB_RUN_ID')}"
        labels = {
            "github_sha": ours.get("GITHUB_SHA"),
            "github_ref": ours.get("GITHUB_REF"),
            "github_run": address if server and repository else None,
        }
    elif ours.get("GITLAB_CI") == "true":
        labels = {
            "gitlab_sha": ours.get("CI_COMMIT_SHA"),
            "gitlab_ref": ours.get("CI_COMMIT_REF_NAME"),
            "gitlab_job": ours.get("CI_JOB_URL"),
        }
    else:
        return {}
    return {key: value for key, value in labels.items() if value}
