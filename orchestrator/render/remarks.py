"""What a reader must know before quoting results, each thing said once."""

import re
from collections.abc import Iterator, Sequence

from orchestrator.store import ResultRow

_NUMBER = re.compile(r"\d[\d.,]*")


def remarks(rows: Sequence[ResultRow]) -> Iterator[str]:
    """One line per remark, with its cell or with how many cells it holds for.

    Remarks that differ in numbers alone are one line, with the numbers of the first.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        for remark in _of(row):
            found.setdefault(_NUMBER.sub("#", remark), []).append((row.cell_id, remark))
    for alike in found.values():
        first_cell, remark = alike[0]
        cells = {cell for cell, _ in alike}
        if len(cells) == 1:
            yield f"{first_cell}: {remark}"
            continue
        same = len({text for _, text in alike}) == 1
        such_as = "" if same else f", such as {first_cell}"
        yield f"{len(cells)} of {len(rows)} cells{such_as}: {remark}"


def _of(row: ResultRow) -> Iterator[str]:
    if row.status != "ok":
        yield f"{row.status}: {row.reason}"
        return
    if row.correct is False:
        yield f"not correct, so views leave it out: {row.correct_reason}"
    elif row.correct is None and row.correct_reason:
        yield row.correct_reason
    yield from row.grade_reasons or ()
