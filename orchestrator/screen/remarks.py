"""Remarks about cells in lines: alike ones together, and each remedy below what it is for."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
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
    """Lines of remarks on `total` cells, alike ones in one, each remedy below all it is for."""
    for remedy, group in _groups(remarks, lambda remark: remark.remedy):
        for _, alike in _groups(group, lambda remark: remark.kind):
            yield _line(alike, total, noun)
        if remedy:
            yield f"{_REMEDY}{remedy}"


def _groups(
    remarks: Iterable[Remark], key: Callable[[Remark], Hashable]
) -> Iterable[tuple[Hashable, list[Remark]]]:
    groups: dict[Hashable, list[Remark]] = {}
    for remark in remarks:
        groups.setdefault(key(remark), []).append(remark)
    return groups.items()


def _line(alike: Sequence[Remark], total: int, noun: str) -> str:
    """The first of alike remarks, with its cell or with how many cells it holds for."""
    first = alike[0]
    cells = len({remark.cell for remark in alike} - {None}) or len(alike)
    if cells == 1 and first.cell:
        return f"{first.cell}: {first.text}"
    same = first.cell is None or len({remark.text for remark in alike}) == 1
    such_as = "" if same else f", such as {first.cell}"
    return f"{cells:,} of {total:,} {noun}{such_as}: {first.text}"
