"""Tables, lines and numbers."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.render.lines import print_line
from orchestrator.render.tables import format_number, print_table
from tests.orchestrator.render.conftest import Screen


def test_columns_are_aligned_and_numbers_stand_right(screen: Screen) -> None:
    rows = [("short", 1, 0.5), ("a longer one", 20, 12345.6), ("none", None, None)]
    print_table(("name", "count", "value"), rows)
    assert screen.printed() == [
        "name          count   value",
        "short             1     0.5",
        "a longer one     20  12,346",
        "none              –       –",
    ]


def test_a_pipe_gets_every_row_whole_on_one_line(screen: Screen) -> None:
    wide = "x" * 5000
    print_table(("first", "second"), [(wide, "end"), ("y", "z")])
    lines = screen.printed()
    assert lines[1] == f"{wide}  end"
    assert len(lines) == 3


def test_text_that_looks_like_markup_is_text(screen: Screen) -> None:
    odd = "[red]a[/] [/b] :smile: \\[x]"
    print_table((":x:", "[b]"), [(odd, "")])
    assert screen.printed() == [f"{':x:':{len(odd)}}  [b]", odd]


def test_a_table_without_rows_is_its_headings(screen: Screen) -> None:
    print_table(("one", "two"), [])
    assert screen.printed() == ["one  two"]


def test_what_would_steer_the_terminal_is_shown(screen: Screen) -> None:
    print_table(("a\nb", "c"), [("\x1b[2Jx", "two\nlines")])
    assert screen.printed() == ["a\\nb        c", "\\u001b[2Jx  two\\nlines"]
    print_line("one\n\x1b[31mtwo")
    assert screen.printed() == ["one", "\\u001b[31mtwo"]


def test_a_line_is_printed_as_it_is(screen: Screen) -> None:
    print_line("[b]:x:[/b]" + "y" * 500)
    print_line()
    assert screen.printed() == ["[b]:x:[/b]" + "y" * 500, ""]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.from_regex(r"[!-~]{1,20}", fullmatch=True), st.integers())))
def test_every_row_can_be_split_again(screen: Screen, rows: list[tuple[str, int]]) -> None:
    print_table(("name", "number"), rows)
    assert [line.split() for line in screen.printed()[1:]] == [[a, f"{b:,}"] for a, b in rows]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.000123, "0.000123"),
        (0.05, "0.05"),
        (12.345, "12.3"),
        (999.4, "999"),
        (999.6, "1,000"),
        (-999.9, "-1,000"),
        (1234567.8, "1,234,568"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
    ],
)
def test_numbers_are_short_and_readable(value: float, text: str) -> None:
    assert format_number(value) == text


@given(st.floats(min_value=0.001, max_value=1e12))
def test_a_short_number_is_close_and_never_in_powers_of_ten(value: float) -> None:
    text = format_number(value)
    assert "e" not in text
    assert float(text.replace(",", "")) == pytest.approx(value, rel=0.006)
