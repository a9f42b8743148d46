"""What a job prints is an event about one of its cells, or nothing; never an error."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.running.launch import ProgressEvent, read_event
from tests.support.jobs import fake_cell

CELL = fake_cell()
CELLS = {CELL.id: CELL}

words = st.sampled_from(["event", "cell_id", "phase", "recorded", "visited", "load", CELL.id])
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | words
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


def line(**fields: object) -> str:
    return json.dumps(fields)


@pytest.mark.parametrize(
    ("text", "event"),
    [
        (line(event="phase", phase="load", cell_id=None), ProgressEvent("phase", None, "load")),
        (
            line(event="phase", phase="steady", cell_id=CELL.id),
            ProgressEvent("phase", CELL, "steady"),
        ),
        (line(event="recorded", cell_id=CELL.id), ProgressEvent("recorded", CELL)),
        (line(event="visited", cell_id=CELL.id, more=[1]), ProgressEvent("visited", CELL)),
        (line(event="phase", phase="load", cell_id="another"), None),
        (line(event="phase", phase="load"), None),
        (line(event="phase", phase="lunch", cell_id=None), None),
        (line(event="phase", phase=["load"], cell_id=None), None),
        (line(event="recorded", cell_id=None), None),
        (line(event={}, cell_id=CELL.id), None),
        ("", None),
        ("NaN", None),
        ("9" * 60_000, None),
        ("[" * 60_000, None),
        ('{"event":' * 10_000, None),
        (line(event="recorded", cell_id=CELL.id, more="x" * 70_000), None),
        ("\ud800\0\x1b[2J", None),
    ],
)
def test_a_line_is_an_event_about_the_jobs_cells_or_nothing(
    text: str, event: ProgressEvent | None
) -> None:
    assert read_event(text, CELLS) == event


@given(st.text() | values.map(json.dumps) | st.dictionaries(words, values).map(json.dumps))
def test_no_text_is_an_error(text: str) -> None:
    event = read_event(text, CELLS)
    assert event is None or event.cell in (None, CELL)
