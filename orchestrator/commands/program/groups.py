"""Options that several commands share: added to their signatures, one by one or as one value."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

Command = TypeVar("Command", bound=Callable[..., Any])
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def with_options(at: int, options: Mapping[str, Any]) -> Callable[[Command], Command]:
    """Insert options at a position of a command that takes them as further keywords."""

    def decorate(command: Command) -> Command:
        own = inspect.signature(command).parameters.values()
        parameters = [p.replace(kind=_KEYWORD) for p in own if p.kind != p.VAR_KEYWORD]
        parameters[at:at] = [
            inspect.Parameter(name, _KEYWORD, default=None, annotation=annotation)
            for name, annotation in options.items()
        ]
        vars(command)["__signature__"] = inspect.Signature(parameters)
        return command

    return decorate


def with_option_group(
    command: Command,
    parameter: str,
    offered: Mapping[str, tuple[Any, object]],
    make: Callable[[dict[str, Any]], object],
) -> Command:
    """Give a command more options, which it takes as the value of one parameter.

    Args:
        command: the command, whose own parameters become keywords.
        parameter: the name of the parameter that takes the value.
        offered: by name, an option's annotation and its default.
        make: makes the value of the options' values, by name.
    """

    @wraps(command)
    def with_group(*arguments: Any, **given: Any) -> Any:
        chosen = {name: given.pop(name) for name in offered}
        return command(*arguments, **{parameter: make(chosen)}, **given)

    own = inspect.signature(command).parameters.values()
    kept = [
        one.replace(kind=_KEYWORD)
        for one in own
        if one.name != parameter and one.kind != one.VAR_KEYWORD
    ]
    added = [
        inspect.Parameter(name, _KEYWORD, default=default, annotation=hint)
        for name, (hint, default) in offered.items()
    ]
    with_group.__annotations__ = {one.name: one.annotation for one in (*kept, *added)}
    vars(with_group)["__signature__"] = inspect.Signature([*kept, *added])
    return with_group  # type: ignore[return-value]
