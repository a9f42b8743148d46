"""Images and labels of a run, in the words of a command line."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, get_args

from runner.contract.axes import Backend
from runner.contract.errors import UsageError, refuse_unknown

_KEY = re.compile(r"[A-Za-z][\w.-]{0,62}", re.ASCII)
_MOST_LETTERS = 500
_REFERENCE = re.compile(r"[a-z0-9][\w.:/-]*(@sha256:[0-9a-f]{64})?")
_LONGEST_REFERENCE = 400


@dataclass(frozen=True)
class ChosenImage:
    """An image in which the jobs of a backend execute, whoever made it."""

    backend: Backend
    reference: str
    """Its name with its registry, and a tag or a digest."""

    def __post_init__(self) -> None:
        if not _REFERENCE.fullmatch(self.reference) or len(self.reference) > _LONGEST_REFERENCE:
            raise ValueError(f"{self.reference!r} is no name of an image")

    @classmethod
    def parse(cls, word: str) -> "ChosenImage":
        """The image in a word of `--image`, `BACKEND=REFERENCE`.

        Raises:
            UsageError: there is no such backend, it uses no image, or that is no name of one.
        """
        from orchestrator.backends.catalogue import CATALOGUE, real_backends

        name, _, reference = word.partition("=")
        backend = next((known for known in get_args(Backend) if known == name), None)
        if backend is None:
            raise UsageError(
                f"--image {word!r}: {refuse_unknown(name, real_backends())}",
                hint="write BACKEND=REFERENCE, e.g. cpu=ghcr.io/somebody/accelmatrix-cpu:1.0",
            )
        if CATALOGUE[backend].image is None:
            raise UsageError(f"--image {word!r}: no container can reach a device of {backend}")
        try:
            return cls(backend, reference)
        except ValueError as error:
            raise UsageError(
                f"--image {word!r}: {error}",
                hint="write it as `docker pull` takes it: registry/name:tag or"
                " registry/name@sha256:…",
            ) from error


class Label(NamedTuple):
    """A label of a run: the user's, or one of its CI job."""

    key: str
    value: str

    @classmethod
    def parse(cls, word: str) -> "Label":
        """The label in a word of `--label`, `KEY=VALUE`."""
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
        return cls(key, value)


def ci_labels(ours: Mapping[str, str]) -> list[Label]:
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
        return []
    return [Label(key, value) for key, value in labels.items() if value]
