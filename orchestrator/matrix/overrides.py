"""Changes to a matrix from the command line: `--set axes.batch_size=1,8`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from orchestrator.errors import MatrixError
from orchestrator.matrix.source import Place, Source, parse_yaml


def override(source: Source, overrides: Sequence[str]) -> Source:
    """The source with each `dotted.path=value` in place; a later one wins.

    A value is read as YAML; under `axes`, commas separate the values of a list.

    Raises:
        MatrixError: an override is no `path=value`, or leads through something that is no mapping.
    """
    data, options = source.data, dict(source.options)
    for text in overrides:
        option = f"--set {text}"
        dotted, equals, value = text.partition("=")
        path = tuple(dotted.strip().split("."))
        if not equals or not all(path):
            raise MatrixError(
                f"{option}: is not path=value", hint="write for example --set axes.batch_size=1,8"
            )
        data = _placed(data, path, _value(path, value, option), option)
        options[path] = option
    return replace(source, data=data, options=options)


def _value(path: Place, text: str, option: str) -> Any:
    if "axes" in path[:-1] and not text.lstrip().startswith("["):
        return [parse_yaml(item, option)[0] for item in text.split(",")]
    return parse_yaml(text, option)[0]


def _placed(data: Any, path: tuple[str, ...], value: Any, option: str) -> Any:
    if not path:
        return value
    if not isinstance(data, dict | None):
        raise MatrixError(f"{option}: {path[0]} lies in something that is not a mapping")
    old = data or {}
    return {**old, path[0]: _placed(old.get(path[0]), path[1:], value, option)}
