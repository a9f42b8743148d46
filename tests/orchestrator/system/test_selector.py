"""Globs over cell ids."""

import re
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.system.selector import Selector
from runner.contract.cell import Cell


def cell(**fields: object) -> Cell:
    given = {"model": "gpt2", "backend": "cpu", "runtime": "torch", "precision": "fp32"}
    given |= {"batch_size": 1, "sequence_length": 128, "mode": "inference", **fields}  # type: ignore[dict-item]
    return Cell.model_validate(given)


@pytest.mark.parametrize(
    ("globs", "kept"),
    [
        ([], True),
        (["*"], True),
        (["cpu-gpt2-fp32-b1-s128-inference"], True),
        (["gpt2"], True),
        (["bert"], False),
        (["GPT2"], False),
        (["!gpt2"], False),
        (["gpt2", "!fp32"], False),
        (["b1"], True),
        (["-b12-"], False),
        (["cpu-gpt2-fp32-b1-s128-inferenc"], True),
        (["gpt2*"], False),
        (["*-b[12]-*"], True),
        (["!*-bf16-*"], True),
        (["cpu-*", "!*-gpt2-*"], False),
        (["!*-gpt2-*", "cpu-*"], False),
    ],
)
def test_keeps_what_a_glob_matches_unless_another_drops_it(globs: list[str], kept: bool) -> None:
    assert Selector(globs).keeps(cell()) is Selector(globs).keeps_id(cell().id) is kept


@pytest.mark.parametrize(
    ("glob", "fields"),
    [
        ("*-n64-generation", {"mode": "generation", "new_tokens": 64}),
        ("*-offline", {"scenario": "offline"}),
        ("*-server-*", {"scenario": "server", "target_qps": 50}),
        ("*-server-q0.5", {"scenario": "server", "target_qps": 0.5}),
        ("*-peak-slo20", {"scenario": "server", "slo_ms": 20}),
    ],
)
def test_modes_and_scenarios_are_selected_by_their_words(
    glob: str, fields: dict[str, object]
) -> None:
    assert Selector([glob]).keeps(cell(**fields))
    assert not Selector([glob]).keeps(cell())
    assert not Selector([f"!{glob}"]).keeps(cell(**fields))


@given(st.lists(st.text("cpu-*?[b1]gt2!", min_size=2, max_size=8), min_size=1, max_size=3))
def test_agrees_with_fnmatch(globs: list[str]) -> None:
    name = cell().id
    wide = [
        glob if set(glob) & set("*?[") else re.sub("^(!?)(.*)$", r"\1*\2*", glob) for glob in globs
    ]
    keep = [glob for glob in wide if not glob.startswith("!")]
    drop = [glob[1:] for glob in wide if glob.startswith("!")]
    expected = (not keep or any(fnmatchcase(name, glob) for glob in keep)) and not any(
        fnmatchcase(name, glob) for glob in drop
    )
    assert Selector(globs).keeps(cell()) is expected
