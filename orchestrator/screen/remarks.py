"""Remarks about cells in lines: alike ones together, and each remedy below what it is for."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from runner.contract.reasons import Facts

_REMEDY = "  remedy: "


@dataclass(frozen=True)
class Remark:
    """A sentence about one cell."""

    cell: str | None
    """The cell's id; None where rows are counted alone."""
    text: str
    kind: Hashable
    """The same for alike remarks, which differ in facts alone."""
    remedy: str | None = None


def kind_of(code: str | None, facts: Facts | None) -> Hashable:
    """The kind of a reason: its code and those of its facts that are no numbers."""
    return code, *((name, fact) for name, fact in (facts or {}).items() if not _is_number(fact))


def _is_number(fact: str) -> bool:
    try:
        float(fact)
    except ValueError:
        return False
    return True


def remark_lines(remarks: Sequence[Remark], total: int, noun: str = "cells") -> Iterator[str]:
    """Lines of remarks, alike ones in one, and each remedy below all that it is for.

    Args:
        remarks: the remarks.
        total: cells that there are.
        noun: the word for what is counted.
    """
    by_remedy: dict[str | None, list[Remark]] = {}
    for remark in remarks:
        by_remedy.setdefault(remark.remedy, []).append(remark)
    for remedy, group in by_remedy.items():
        yield from _alike(group, total, noun)
        if remedy:
            yield f"{_REMEDY}{remedy}"


def _alike(remarks: Sequence[Remark], total: int, noun: str) -> Iterator[str]:
    """One line per remark, with its cell or with how many cells it holds for.

    Remarks of one kind are one line, with the facts of the first.
    """
    groups: dict[Hashable, list[Remark]] = {}
    for remark in remarks:
        groups.setdefault(remark.kind, []).append(remark)
    for alike in groups.values():
        first = alike[0]
        cells = len({remark.cell for remark in alike} - {None}) or len(alike)
        if cells == 1 and first.cell:
            yield f"{first.cell}: {first.text}"
            continue
        same = first.cell is None or len({remark.text for remark in alike}) == 1
        such_as = "" if same else f", such as {first.cell}"
        yield f"{cells:,} of {total:,} {noun}{such_as}: {first.text}"
