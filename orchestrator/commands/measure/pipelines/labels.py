"""Labels of the runners that have each backend's device."""

from collections.abc import Mapping, Sequence

from orchestrator.backends.catalogue import CATALOGUE
from runner.contract.cell import Backend
from runner.contract.errors import UsageError, suggest

RUNNER_LABELS: Mapping[Backend, Sequence[str]] = {
    backend: spec.runner_labels for backend, spec in CATALOGUE.items()
}
"""Labels of the self-hosted runners where nobody says others."""
_JUDGE = "judge="


def parse_runner_labels(texts: Sequence[str]) -> Mapping[Backend, Sequence[str]]:
    """The labels of all backends, those of `BACKEND=LABEL,LABEL` in place of our own."""
    labels = dict(RUNNER_LABELS)
    known: dict[str, Backend] = {str(backend): backend for backend in CATALOGUE}
    for text in texts:
        name, equals, listed = text.partition("=")
        words = [word.strip() for word in listed.split(",")]
        if not equals or not all(words):
            raise UsageError(
                f"--runs-on: {text!r} is not BACKEND=LABEL,LABEL",
                hint="e.g. --runs-on cpu=self-hosted,bench1",
            )
        if name not in known:
            raise UsageError(f"--runs-on: backend {name!r} is unknown{suggest(name, known)}")
        labels[known[name]] = words
    return labels


def split_judge(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """The texts about backends, and the labels of `judge=LABEL,LABEL`, where results are judged."""
    judging = [text for text in texts if text.startswith(_JUDGE)]
    labels = [word.strip() for text in judging for word in text.removeprefix(_JUDGE).split(",")]
    return [text for text in texts if text not in judging], [label for label in labels if label]
