"""What a matrix file may be as a document, before anyone asks what it means."""

import json
import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.system.problems import Source, read_source
from orchestrator.system.yaml_text import parse_yaml
from runner.contract.errors import MatrixError


def refusal(content: str | bytes, tmp_path: Path, name: str = "matrix.yaml") -> str:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(MatrixError) as caught:
        read_source(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("a: 1\nb: 2\na: 3\n", "line 3: the key 'a' appears twice"),
        ("a: &x [1]\nb: *x\n", "line 1: anchors and aliases are not allowed: write the value out"),
        ("a: !!python/object:os.system x\n", "line 1: the tag !!python/object:os.system is not"),
        ("a: 1\n---\nb: 2\n", "line 2: a second document starts here"),
        ("a: [1\n", "line 1: its [ is not closed"),
        ("a: " + "[" * 5000, "line 1: nested deeper than 20 levels"),
        ("[1, 2]: x\n", "line 1: a key must be plain text"),
        ("\ta: 1\n", "line 1 begins with a tab; YAML wants blanks"),
        ("? " * 100_000, "line 1: nested deeper than 20 levels"),
        ("<<: {a: 1}\n", "line 1: the merge key << is not allowed: write the values out"),
        ('a: "\\ud800"\n', "line 1: while parsing a quoted scalar, found invalid Unicode"),
        ("a: \0", "is not YAML: unacceptable character #x0000"),
        ("a: 1\n".encode("utf-16"), "is not UTF-8 text (byte 0)"),
        ("#" * (1 << 20) + "\n", "is larger than 1 MiB"),
    ],
)
def test_refuses_odd_yaml_and_says_where(
    content: str | bytes, sentence: str, tmp_path: Path
) -> None:
    assert refusal(content, tmp_path).startswith(sentence)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "the key 'c' appears twice"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ("[" * 100_000, "nested too deeply"),
        ("[" * 30 + "]" * 30, "nested deeper than 20 levels"),
        ('{"a": [1, 1e400]}', "a[1]: is not a finite number"),
        ('{"a": 1' + "0" * 309 + "}", "a: is too large for a number"),
        ('{"a": "\\ud800"}', "a: is not Unicode text"),
    ],
)
def test_refuses_odd_json(content: str, sentence: str, tmp_path: Path) -> None:
    assert refusal(content, tmp_path, "models.json").startswith(sentence)


def test_a_bomb_of_aliases_does_not_explode(tmp_path: Path) -> None:
    levels = [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]" for i in range(1, 10)]
    assert "anchors and aliases" in refusal("\n".join(["l0: &l0 [x]", *levels]), tmp_path)


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(MatrixError, match=r"none\.yaml: there is no such file"):
        read_source(tmp_path / "none.yaml")
    with pytest.raises(MatrixError, match="is a folder, not a file"):
        read_source(tmp_path)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("matrx.yaml", "did you mean {folder}/matrix.yaml?"),
        ("nope.csv", "none in {folder} has such a name"),
        ("deep/nope.csv", "none in {folder}/deep has such a name"),
    ],
)
def test_a_missing_file_has_a_hint(tmp_path: Path, name: str, hint: str) -> None:
    (tmp_path / "matrix.yaml").touch()
    with pytest.raises(MatrixError) as caught:
        read_source(tmp_path / name)
    assert str(caught.value.hint).endswith(hint.format(folder=tmp_path))


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("a: 1\nb:\n\tc: 1\n", "line 3 begins with a tab; YAML wants blanks"),
        ("a:\n  b: 1\n  \tc: 2\n", "line 3 has a tab before its first word; YAML wants blanks"),
        ("a:\n  b: 1\n   c: 2\n", "line 3 is indented by 3, line 2 by 2: keys of one table"),
        ("a:b\nc: 1\n", "line 1: a blank is missing behind the colon"),
        ("- a\n-b\n", "line 2: a blank is missing behind the dash"),
        ("a: [1, 2\nb: 3\n", "line 1: its [ is not closed"),
        ("a: 'b\nc: 1\n", "line 1: its quote is not closed"),
        ("a:\n  b\n  c: 1\n", "line 3: mapping values are not allowed"),
    ],
)
def test_what_is_no_yaml_is_explained_to_who_wrote_it(
    text: str, advice: str, tmp_path: Path
) -> None:
    assert refusal(text, tmp_path).startswith(advice)


def test_knows_the_line_of_each_value() -> None:
    data, lines = parse_yaml("a: 1\nb:\n  - x\n  - c: 2\n", "m")
    assert data == {"a": 1, "b": ["x", {"c": 2}]}
    assert lines["a",] == 1
    assert lines["b",] == 2
    assert lines["b", 0] == 3
    assert lines["b", 1, "c"] == 4


def test_values_are_plain_and_dates_stay_text() -> None:
    data, _ = parse_yaml('a: 2024-01-01\nb: true\nc: 1.5\nd:\non: "7"\n', "m")
    assert data == {"a": "2024-01-01", "b": True, "c": 1.5, "d": None, "on": "7"}


@pytest.mark.parametrize(
    ("word", "fault"),
    [
        ("1:30", 'would be read as 90: write 90, or "1:30" in quotes if it is text'),
        ("010", "would be read as 8: write 8"),
        ("0b11", "would be read as 3: write 3"),
        ("0x1F", "would be read as 31: write 31"),
        ("1_000", "would be read as 1000: write 1000"),
        ("1e3", 'could be text or a number: write 1000, or "1e3" in quotes if it is text'),
        ("yes", 'could be text or true: write true, or "yes" in quotes if it is text'),
        (".inf", "is not a finite number"),
        (".NaN", "is not a finite number"),
        ("1.0e+400", "is not a finite number"),
        ("0x" + "f" * 300, "is too large for a number"),
        ("9" * 5000, "is too long for a number: it has 5,000 characters"),
        ("1" + ":59" * 100_000, "is too long for a number: it has 300,001 characters"),
    ],
)
def test_a_word_that_is_one_value_here_and_another_elsewhere_is_refused(
    word: str, fault: str
) -> None:
    with pytest.raises(MatrixError) as caught:
        parse_yaml(f"axes:\n  batch_size: [1, {word}]\n", "m.yaml")
    shown = word if len(word) <= 80 else f"{word[:79]}…"
    assert str(caught.value).startswith(f"m.yaml: axes.batch_size[1]: {shown} {fault}")
    assert str(caught.value).endswith(" (line 2)")
    assert parse_yaml(f"['{word}']", "m.yaml")[0] == [word]


@pytest.mark.parametrize(
    ("word", "value"),
    [("-0", 0), ("+5", 5), ("1.50", 1.5), (".5", 0.5), ("1.5e+3", 1500.0), ("-1.5e-3", -0.0015),
     ("True", True), ("1.2.3", "1.2.3"), ("e3", "e3"), ("90s", "90s"), ("~", None)],
)  # fmt: skip
def test_a_word_with_one_meaning_is_taken(word: str, value: object) -> None:
    assert parse_yaml(f"[{word}]", "m")[0] == [value]


def test_options_that_are_no_unicode_are_refused() -> None:
    with pytest.raises(MatrixError, match="is not Unicode text"):
        parse_yaml("\udcff", "--set x")


@pytest.mark.parametrize("name", ["models.yaml", "models.json"])
def test_only_a_user_may_name_a_pipe(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(MatrixError, match="is a FIFO, not a plain file"):
        read_source(tmp_path / name, plain=True)
    (tmp_path / "link.yaml").symlink_to(tmp_path / name)
    with pytest.raises(MatrixError, match="is a FIFO, not a plain file"):
        read_source(tmp_path / "link.yaml", plain=True)
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    with pytest.raises(MatrixError, match="cannot be read"):
        read_source(tmp_path / "loop.yaml", plain=True)


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_source(path).data == {"a": 1}


def test_places_are_written_as_the_user_wrote_them() -> None:
    source = Source("m.yaml", {"axes": {"precision": "fp17", "mode": ["x"]}}, lines={("axes",): 3})
    assert source.locate(("axes", "precision", 0)) == "m.yaml: axes.precision: "
    assert source.locate(("axes", "mode", 0)) == "m.yaml: axes.mode[0]: "
    assert source.locate(()) == "m.yaml: "
    assert source.line(("axes", "mode", 0)) == 3


_DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("abc: -#'\"\n1.e", max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner),
    max_leaves=10,
)


@given(_DATA)
def test_reads_back_what_a_writer_wrote(data: object) -> None:
    class NoAliases(yaml.SafeDumper):
        def ignore_aliases(self, data: object) -> bool:
            return True

    assert parse_yaml(yaml.dump(data, Dumper=NoAliases), "m")[0] == data
    assert parse_yaml(json.dumps(data), "m")[0] == data


@given(st.text(max_size=60))
def test_any_text_is_data_or_one_clear_error(text: str) -> None:
    try:
        parse_yaml(text, "m.yaml")
    except MatrixError as error:
        assert str(error).startswith("m.yaml: ")  # noqa: PT017 - either outcome is right
