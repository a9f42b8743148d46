"""Markup: elements of HTML, in which every text is escaped."""

import html
import json
from collections.abc import Iterable, Mapping

from orchestrator.system.text import escape_control

_EMPTY = frozenset({"input", "link", "meta"})
"""Elements without an end."""
Content = str | Iterable["Content"] | None
"""A text, markup, or several of them; None is nothing."""


class Markup(str):
    """HTML that was made of elements, and stands in others as it is."""

    __slots__ = ()


def element(tag: str, /, *content: Content, **attributes: str | int | bool | None) -> Markup:
    """An element; texts in it and values of its attributes are escaped.

    Attributes are written with `-` for `_`, whose last one is left out (`class_`); True stands for
    an attribute without a value, None and False for none.
    """
    start = f"<{tag}{''.join(_attribute(*one) for one in attributes.items())}>"
    return Markup(start if tag in _EMPTY else f"{start}{markup(content)}</{tag}>")


def markup(content: Content) -> Markup:
    """A text, escaped, or elements in their order."""
    if isinstance(content, Markup):
        return content
    if isinstance(content, str):
        return Markup(html.escape(escape_control(content)))
    return Markup("".join(map(markup, content or ())))


def with_code(text: str) -> Markup:
    """A text in which what stands between backticks is code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return markup(text)
    return markup([element("code", part) if n % 2 else part for n, part in enumerate(parts)])


def json_for_script(value: object) -> Markup:
    """JSON that can end no script element, whatever its texts hold."""
    plain = _printable(value)
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _attribute(name: str, value: str | int | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = name.removesuffix("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'


def _printable(value: object) -> object:
    """Plain data whose texts hold nothing that steers how others are shown."""
    if isinstance(value, str):
        return escape_control(value)
    if isinstance(value, Mapping):
        return {escape_control(str(key)): _printable(one) for key, one in value.items()}
    return [*map(_printable, value)] if isinstance(value, list | tuple) else value
