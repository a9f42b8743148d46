"""Queries and generations that a page executes and times by its own clock."""

from collections.abc import Mapping, Sequence

import numpy as np

from runner.backends.base import FloatArray, Generated
from runner.backends.graphs.feeds import (
    POSITIONS,
    Feeds,
    Tokens,
    forward_pass,
    position_ids,
    prompt_inputs,
    select_inputs,
    token_input,
)
from runner.backends.graphs.generation import PAST
from runner.backends.graphs.session import Outputs
from runner.backends.onnxruntime_web.graph import WebGraph, graph_refusal
from runner.backends.onnxruntime_web.page import NS_PER_MS, PageError, WebPage, nanoseconds
from runner.contract.errors import TimedOut, Unsupported
from runner.contract.models import ModelSpec
from runner.contract.reasons import reason
from runner.inputs import Inputs
from runner.measure.clock import NANOSECONDS

_SLICE_MS = 500
"""The page is asked for iterations of about so much time at once, so that the way to it and back
takes little of a cell's time."""
SILENT_AFTER_S = 30
_LONGEST = 100
"""A page in which iterations have ended is silent after so many seconds, and so many times as long
as the longest of them took."""


class PageQuery:
    """A query that lies in a page, and that the page times."""

    def __init__(self, page: WebPage, number: int) -> None:
        self._page, self._number = page, number

    def __call__(self) -> Outputs:
        return self._page.outputs("post", self._number)

    def series(self, least: int, min_ns: int, max_ns: int) -> list[int]:
        """Nanoseconds of at least so many iterations, executed one behind the other.

        Their sum is at least `min_ns`; at `max_ns` they end in any case.
        """
        durations: list[int] = []
        total = 0
        while total < max_ns and (len(durations) < least or total < min_ns):
            wanted = {
                "least": least - len(durations),
                "minimum": (min_ns - total) / NS_PER_MS,
                "most": (max_ns - total) / NS_PER_MS,
                "slice": _SLICE_MS,
            }
            durations += map(nanoseconds, self._slice(wanted, durations))
            total = sum(durations)
        return durations

    def _slice(self, wanted: Mapping[str, float], ended_ns: Sequence[int]) -> list[float]:
        """Milliseconds of the iterations of one slice; a page that fell silent is noticed soon."""
        patience_s = self._page.limits.answer_s
        if ended_ns:
            patience_s = min(patience_s, SILENT_AFTER_S + _LONGEST * max(ended_ns) / NANOSECONDS)
        try:
            answer: list[float] = self._page.call(
                "series", self._number, wanted, seconds=patience_s
            )
        except TimedOut as silence:
            silence.ended_ns = ended_ns
            raise
        return answer


def bind_query(graph: WebGraph, model: ModelSpec, inputs: Inputs) -> PageQuery:
    passed, feeds = forward_pass(graph.graph, model, inputs)
    parts = [{"name": name, "inputs": list(part.inputs)} for name, part in passed.parts.items()]
    page = graph.page
    arrays = _arrays(page, feeds)
    number: int = page.call("bind", graph.id, {"parts": parts, "inputs": arrays})
    page.forget_arrays()
    return PageQuery(page, number)


class WebGenerator:
    """Takes the most likely token again and again; caches lie where the provider takes them."""

    def __init__(self, graph: WebGraph, model: ModelSpec, inputs: Inputs, new_tokens: int) -> None:
        takes = graph.graph.takes
        if not {"prefill", "decode"} <= takes.keys():
            raise Unsupported(reason("graph_lacks_cache", model=model.name))
        steps = takes["decode"]
        caches = [name for name in steps if name.startswith(PAST)]
        changing = {token_input(model), POSITIONS, *caches}
        prompt = select_inputs(takes["prefill"], prompt_inputs(model, inputs))
        constants = select_inputs([name for name in steps if name not in changing], inputs)
        self._page, self._graph = graph.page, graph
        options = {
            "newTokens": new_tokens,
            "tokenInput": token_input(model),
            "caches": caches,
            "prompt": _arrays(self._page, prompt),
            "constants": _arrays(self._page, constants),
            "positions": _last_positions(model, inputs) if POSITIONS in steps else None,
        }
        try:
            self._number: int = self._page.call("bindGeneration", graph.id, options)
        except PageError as error:  # some sessions are made there
            raise graph_refusal(graph.backend, error) from error
        self._page.forget_arrays()

    def __call__(self) -> Generated:
        answer = self._page.call("generate", self._number)
        location, refusal = answer["caches"]["location"], answer["caches"]["refusal"]
        because = f", as the provider refuses its own memory: {refusal}" if refusal else ""
        self._graph.caches = f"{location}{because}"
        times = [*map(nanoseconds, answer["times"])]
        return Generated(0, times, np.array(answer["tokens"], np.int64).T)

    def forced(self, tokens: Tokens) -> FloatArray:
        steps = self._page.posted("forced", self._number, {"tokens": tokens.T.tolist()})
        return np.stack([step[:, -1].astype(np.float32) for step in steps], axis=1)


def _arrays(page: WebPage, feeds: Feeds) -> Mapping[str, object]:
    return {name: page.array(array) for name, array in feeds.items()}


def _last_positions(model: ModelSpec, inputs: Inputs) -> Mapping[str, object]:
    """The positions of the prompt's last tokens, to which the page adds 1 for each new one."""
    last = position_ids(model, inputs)[..., -1:]
    return {"values": last.ravel().tolist(), "dims": list(last.shape)}
