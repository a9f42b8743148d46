"""Queries that a page executes and times by its own clock."""

from collections.abc import Mapping, Sequence

from runner.backends.graphs.feeds import forward_pass
from runner.backends.graphs.session import Outputs
from runner.backends.onnxruntime_web.graph import WebGraph
from runner.backends.onnxruntime_web.page import NS_PER_MS, WebPage, nanoseconds
from runner.contract.errors import TimedOut
from runner.contract.models import ModelSpec
from runner.inputs import Inputs
from runner.measure.clock import NANOSECONDS

SLICE_MS = 500
"""The page is asked for iterations of about so much time at once, so that the way to it and back
takes little of a cell's time."""

SILENT_AFTER_S = 30
LONGEST = 100
"""A page in which iterations have ended is silent after so many seconds, and so many times as long
as the longest of them took."""


class PageQuery:
    """A query that lies in a page, and that the page times."""

    def __init__(self, page: WebPage, number: int) -> None:
        self._page, self._number = page, number

    def __call__(self) -> Outputs:
        """Execute once, and bring the outputs here."""
        return self._page.outputs("post", self._number)

    def series(self, least: int, min_ns: int, max_ns: int) -> list[int]:
        """Nanoseconds of iterations that the page executes one behind the other.

        Args:
            least: the fewest of them.
            min_ns: the least sum of their durations.
            max_ns: the sum at which they end in any case.
        """
        durations: list[int] = []
        total = 0
        while total < max_ns and (len(durations) < least or total < min_ns):
            wanted = _remaining(least - len(durations), min_ns - total, max_ns - total)
            answer: list[float] = self._slice(wanted, durations)
            durations += map(nanoseconds, answer)
            total = sum(durations)
        return durations

    def _slice(self, wanted: Mapping[str, float], ended_ns: Sequence[int]) -> list[float]:
        """Milliseconds of the iterations of one slice; a page that fell silent is noticed soon."""
        patience_s = self._page.answer_s
        if ended_ns:
            patience_s = min(patience_s, SILENT_AFTER_S + LONGEST * max(ended_ns) / NANOSECONDS)
        try:
            answer: list[float] = self._page.call(
                "series", self._number, wanted, seconds=patience_s
            )
        except TimedOut as silence:
            silence.ended_ns = ended_ns
            raise
        return answer


def bind_query(graph: WebGraph, model: ModelSpec, inputs: Inputs) -> PageQuery:
    """The graph over these inputs, which the page fetches."""
    passed, feeds = forward_pass(graph.graph, model, inputs)
    parts = [{"name": name, "inputs": list(part.inputs)} for name, part in passed.parts.items()]
    page = graph.page
    arrays = {name: page.array(array) for name, array in feeds.items()}
    number: int = page.call("bind", graph.id, {"parts": parts, "inputs": arrays})
    page.forget_arrays()
    return PageQuery(page, number)


def nothing_query(page: WebPage) -> PageQuery:
    """A query that executes nothing, called and timed as any other."""
    return PageQuery(page, page.call("bindNothing"))


def _remaining(least: int, min_ns: int, max_ns: int) -> Mapping[str, float]:
    return {
        "least": least,
        "minimum": min_ns / NS_PER_MS,
        "most": max_ns / NS_PER_MS,
        "slice": SLICE_MS,
    }
