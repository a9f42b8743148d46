"""Options and arguments that read plain words themselves.

typer reads every value with pydantic, even a default, and to import it takes longer than most of a
short command. Words, lists of words and paths need none of that; what is left is typer's.
"""

import os
from pathlib import Path
from typing import Any

from typer.core import TyperArgument, TyperOption

_LEFT = object()
"""The answer for values that are typer's."""


class _Quick:
    """A parameter that typer asks for its value."""

    def process_value(self: Any, ctx: Any, value: Any) -> Any:
        """The value that a command gets for this one of the command line."""
        plain = _plain_value(self, value)
        if plain is _LEFT or (self.required and self.value_is_missing(plain)):
            return super().process_value(ctx, value)  # type: ignore[misc]
        return self.callback(ctx, self, plain) if self.callback else plain


class QuickOption(_Quick, TyperOption):
    """An option that reads plain words itself."""


class QuickArgument(_Quick, TyperArgument):
    """An argument that does."""


def quick(parameter: Any) -> Any:
    """A parameter that typer has made, as one that reads plain words."""
    kind = QuickOption if isinstance(parameter, TyperOption) else QuickArgument
    copy = kind.__new__(kind)
    vars(copy).update(vars(parameter))
    return copy


def _plain_value(parameter: Any, value: Any) -> Any:
    kind = parameter.type_descriptor.annotation
    if value is None:
        return () if parameter.multiple or parameter.nargs == -1 else None
    if value is parameter.default or (kind is str and isinstance(value, str)):
        return value
    if kind == list[str]:
        return list(value)
    if kind is Path and _may_be_read(value):
        return Path(value)
    return _LEFT


def _may_be_read(path: Any) -> bool:
    """True unless typer has something to say about it."""
    return isinstance(path, str) and (os.access(path, os.R_OK) or not os.path.lexists(path))
