"""Prose and commands broken to a terminal's width."""

import sys

import pytest

from orchestrator.screen.lines import print_command, print_data, print_line, print_note
from orchestrator.screen.wrapping import cell_width, terminal_width, wrap, wrap_command
from tests.orchestrator.conftest import Screen
from tests.support.terminal import a_terminal

PATH = "/srv/benchmarks/accelmatrix/results/20261122-165247-9bd1/records"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "note: 4 of 8 cells are grade D: other processes used the CPU",
            ["note: 4 of 8 cells are grade", "  D: other processes used the", "  CPU"],
        ),
        (
            "  indented already, and longer than that",
            ["  indented already, and longer", "    than that"],
        ),
        (
            "in cpu-onnxruntime-bert-tiny-fp32-b1-s128-inference",
            ["in cpu-onnxruntime-bert-tiny-", "  fp32-b1-s128-inference"],
        ),
        (
            f"database: {PATH}",
            [
                "database: /srv/benchmarks/",
                "  accelmatrix/results/",
                "  20261122-165247-9bd1/records",
            ],
        ),
        (
            "`orchestrator run matrix.yaml --select bert`, again",
            ["`orchestrator run matrix.yaml \\", "  --select bert`, again"],
        ),
        ("a lone ` and more words than fit here", ["a lone ` and more words than", "  fit here"]),
        ("x" * 40, ["x" * 40]),
    ],
)
def test_lines_break_at_blanks_and_long_names_after_their_signs(
    text: str, lines: list[str]
) -> None:
    assert wrap(text, 30) == lines


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        ("orchestrator doctor", ["  orchestrator doctor"]),
        (
            "orchestrator run --select 'cpu-*' --results elsewhere",
            ["  orchestrator run --select \\", "    'cpu-*' --results \\", "    elsewhere"],
        ),
        (
            'orchestrator query "SELECT cell_id, grade FROM latest_results"',
            ['  orchestrator query "SELECT', "    cell_id, grade FROM", '    latest_results"'],
        ),
    ],
)
def test_a_broken_command_can_be_pasted_into_a_shell(command: str, lines: list[str]) -> None:
    assert wrap_command(command, 32) == lines


def test_wide_characters_take_their_columns() -> None:
    assert [cell_width(text) for text in ("± 2 %", "–·…", "模型", "é")] == [5, 3, 4, 1]
    assert wrap("模型 模型 模型", 10) == ["模型 模型", "  模型"]


def test_a_pipe_has_no_width_and_a_terminal_at_least_twenty(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert terminal_width(sys.stdout) is None
    for named, width in (("120", 120), ("3", 20), ("0", 80), ("many", 80)):
        with a_terminal(0, sys.stdout):
            monkeypatch.setenv("COLUMNS", named)
            assert terminal_width(sys.stdout) == width


def test_prose_is_wrapped_on_a_terminal_and_data_never(
    screen: Screen, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "several words that are too many"
    with a_terminal(20, sys.stdout, sys.stderr):
        print_note(text)
        assert capsys.readouterr().err == "several words that\n  are too many\n"
        for show in (print_line, print_data, print_command):
            show(text)
    assert screen.printed() == [
        *("several words that", "  are too many"),
        text,
        *("  several words \\", "    that are too \\", "    many"),
    ]
    print_line(text)
    print_command(text)
    assert screen.printed() == [text, f"  {text}"]
