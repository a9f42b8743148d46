"""Text of others on a terminal: what would steer it is shown instead, and steers nothing."""

_STEERING = (
    *range(0x20),
    *range(0x7F, 0xA0),
    *(0x061C, 0x200E, 0x200F, 0x2028, 0x2029),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
)
"""Control characters, line separators, and what turns the direction of writing."""
_ESCAPES = {code: f"\\u{code:04x}" for code in _STEERING}
_IN_A_LINE = _ESCAPES | {ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}
_IN_LINES = {code: told for code, told in _IN_A_LINE.items() if code not in {9, 10}}


def visible(text: str) -> str:
    """The text with such characters escaped, save line breaks and tabs; JSON says the same."""
    return text if text.isprintable() else text.translate(_IN_LINES)


def visible_line(text: str) -> str:
    """The same on one line: line breaks and tabs are escaped too."""
    return text if text.isprintable() else text.translate(_IN_A_LINE)
