"""Tables on a terminal and in a pipe: aligned, never too wide, no word broken; sparklines."""

import io
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.results.table import Field
from orchestrator.screen.lines import print_line
from orchestrator.screen.tables import has_blocks, print_lines, sparkline
from tests.orchestrator.conftest import Screen
from tests.support.terminal import WIDTHS, a_terminal, require_unbroken, shown


def test_columns_are_aligned_and_numbers_stand_right(screen: Screen) -> None:
    rows = [("short", 1, 0.5), ("a longer one", 20, 12345.6), ("none", None, None)]
    print_lines(("name", "count", "value"), rows)
    assert screen.printed() == [
        "name          count   value",
        "short             1     0.5",
        "a longer one     20  12,346",
        "none              –       –",
    ]


def test_a_pipe_gets_every_row_whole_on_one_line(screen: Screen) -> None:
    wide = "x" * 5000
    print_lines(("first", "second"), [(wide, "end"), ("y", "z")])
    lines = screen.printed()
    assert lines[1] == f"{wide}  end"
    assert len(lines) == 3


def test_text_that_looks_like_markup_is_text(screen: Screen) -> None:
    odd = "[red]a[/] [/b] :smile: \\[x]"
    print_lines((":x:", "[b]"), [(odd, "")])
    assert screen.printed() == [f"{':x:':{len(odd)}}  [b]", odd]


def test_a_table_without_rows_is_its_headings(screen: Screen) -> None:
    print_lines(("one", "two"), [])
    assert screen.printed() == ["one  two"]


def test_what_would_steer_the_terminal_is_shown(screen: Screen) -> None:
    print_lines(("a\nb", "c"), [("\x1b[2Jx", "two\nlines")])
    assert screen.printed() == ["a\\nb        c", "\\u001b[2Jx  two\\nlines"]
    print_line("one\n\x1b[31mtwo")
    assert screen.printed() == ["one", "\\u001b[31mtwo"]


def test_a_line_is_printed_as_it_is(screen: Screen) -> None:
    print_line("[b]:x:[/b]" + "y" * 500)
    print_line()
    assert screen.printed() == ["[b]:x:[/b]" + "y" * 500, ""]


COLUMNS = (
    Field("cell", essential=True, wraps=True),
    Field("median ms", essential=True),
    Field("p90 ms"),
    Field("proof"),
)
SHORT = [("cpu-b1", 64.7, 65.1, "proven"), ("cpu-b8", 1543, None, "none")]
LONG_ID = "cuda-bert-base-uncased-fp16-b8-s128-inference"


def printed_on(width: int, screen: Screen, *values: Any, wide: bool = False) -> str:
    with a_terminal(width, sys.stdout):
        print_lines(*values, wide=wide)
    return "\n".join(screen.printed())


def test_a_table_that_fits_is_the_same_on_a_terminal_and_in_a_pipe(screen: Screen) -> None:
    print_lines(COLUMNS, SHORT)
    piped = screen.printed()
    for width in WIDTHS:
        assert shown(printed_on(width, screen, COLUMNS, SHORT), width) == piped


def test_columns_that_do_not_fit_are_left_out_from_the_right_and_counted(screen: Screen) -> None:
    assert printed_on(28, screen, COLUMNS, SHORT).splitlines()[1:] == [
        "cpu-b1       64.7    65.1",
        "cpu-b8      1,543       –",
        "1 column left out: proof",
        "  (--wide)",
    ]
    last = printed_on(20, screen, COLUMNS, SHORT).splitlines()[-2:]
    assert last == ["2 columns left out:", "  p90 ms, proof", "  (--wide)"][-2:]


def test_with_wide_no_column_is_left_out(screen: Screen) -> None:
    assert printed_on(28, screen, COLUMNS, SHORT, wide=True).splitlines()[:5] == [
        "row 1 of 2",
        "  cell       cpu-b1",
        "  median ms  64.7",
        "  p90 ms     65.1",
        "  proof      proven",
    ]


def test_a_long_id_breaks_at_its_hyphens_alone(screen: Screen) -> None:
    rows = [(LONG_ID, 64.7, 65.1, "proven")]
    assert printed_on(44, screen, COLUMNS, rows).splitlines()[1:] == [
        "cuda-bert-base-uncased-         64.7    65.1",
        "  fp16-b8-s128-inference",
        "1 column left out: proof (--wide)",
    ]


def test_headings_alone_are_never_left_out(screen: Screen) -> None:
    lines = printed_on(40, screen, ("cell", "runtime"), [(LONG_ID, "torch")]).splitlines()
    assert lines == [
        "row 1 of 1",
        "  cell     cuda-bert-base-uncased-fp16-",
        "           b8-s128-inference",
        "  runtime  torch",
    ]
    nothing = printed_on(20, screen, ("a long heading", "another"), [])
    assert nothing.split() == ["no", "row;", "columns:", "a", "long", "heading,", "another"]


def test_headings_are_bold_unless_the_user_wants_no_style(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert printed_on(80, screen, ("one",), [("x",)]) == "\x1b[1mone\x1b[0m\nx"
    with a_terminal(80, sys.stdout):
        monkeypatch.setenv("NO_COLOR", "1")
        print_lines(("one",), [("x",)])
    assert screen.printed() == ["one", "x"]


WORDS = st.sampled_from(("of", "torch", "unsupported", LONG_ID, f"results/{LONG_ID}.parquet"))
TEXTS = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), TEXTS, TEXTS), min_size=1, max_size=6),
    st.integers(-(10**12), 10**12),
    st.sampled_from(WIDTHS),
    st.booleans(),
)
def test_no_table_is_wider_than_the_terminal_or_breaks_a_word(
    screen: Screen, content: list[tuple[bool, bool, str, str]], number: int, width: int, wide: bool
) -> None:
    texts = [
        Field(f"column{index}", essential=essential, wraps=wraps)
        for index, (essential, wraps, _, _) in enumerate(content)
    ]
    columns = (*texts, Field("number ms"))
    rows = [(*(line[which] for line in content), number) for which in (2, 3)]
    print_lines(columns, rows)
    whole = "\n".join(screen.printed())
    require_unbroken(printed_on(width, screen, columns, rows, wide=wide), width, whole)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.from_regex(r"[!-~]{1,20}", fullmatch=True), st.integers())))
def test_every_row_can_be_split_again(screen: Screen, rows: list[tuple[str, int]]) -> None:
    print_lines(("name", "number"), rows)
    assert [line.split() for line in screen.printed()[1:]] == [[a, f"{b:,}"] for a, b in rows]


@pytest.mark.parametrize(
    ("values", "blocks", "plain"),
    [
        ([], "", ""),
        ([5.0], "▄", "~"),
        ([1, 1, 1], "▄▄▄", "~~~"),
        ([1, 2, 3, 4, 5, 6, 7, 8], "▁▂▃▄▅▆▇█", "_.-~=+*#"),
        ([8, 1], "█▁", "#_"),
        ([1, 1, 8, 8], "▁▁██", "__##"),
    ],
)
def test_each_value_is_a_level(values: list[float], blocks: str, plain: str) -> None:
    assert sparkline(values, blocks=True) == blocks
    assert sparkline(values, blocks=False) == plain


def test_many_values_are_means_of_neighbours() -> None:
    assert sparkline([0, 2, 0, 2, 7, 9, 7, 9], blocks=False, width=2) == "_#"
    assert len(sparkline(range(1_000), blocks=True)) == 24


def test_pipes_get_plain_letters() -> None:
    assert not has_blocks(io.StringIO())
