"""Greedy generation by a loop that lies in the page, each token timed by the page's clock."""

from collections.abc import Mapping

import numpy as np

from runner.backends.base import FloatArray, Generated
from runner.backends.graphs.feeds import (
    POSITIONS,
    Feeds,
    Tokens,
    position_ids,
    prompt_inputs,
    select_inputs,
    token_input,
)
from runner.backends.graphs.generation import PAST
from runner.backends.onnxruntime_web.graph import WebGraph, graph_refusal
from runner.backends.onnxruntime_web.page import PageError, WebPage, nanoseconds
from runner.contract.errors import Unsupported
from runner.contract.models import ModelSpec
from runner.contract.reasons import reason
from runner.inputs import Inputs


class WebGenerator:
    """Takes the most likely token again and again; caches lie where the provider takes them."""

    def __init__(self, graph: WebGraph, model: ModelSpec, inputs: Inputs, new_tokens: int) -> None:
        """Give the page the prompt."""
        takes = graph.graph.takes
        if not {"prefill", "decode"} <= takes.keys():
            raise Unsupported(reason("graph_lacks_cache", model=model.name))
        steps = takes["decode"]
        caches = [name for name in steps if name.startswith(PAST)]
        changing = {token_input(model), POSITIONS, *caches}
        self._page, self._graph = graph.page, graph
        options = {
            "newTokens": new_tokens,
            "tokenInput": token_input(model),
            "caches": caches,
            "prompt": _arrays(
                self._page, select_inputs(takes["prefill"], prompt_inputs(model, inputs))
            ),
            "constants": _arrays(
                self._page, select_inputs([name for name in steps if name not in changing], inputs)
            ),
            "positions": _last_positions(model, inputs) if POSITIONS in steps else None,
        }
        try:
            self._number: int = self._page.call("bindGeneration", graph.id, options)
        except PageError as error:  # some sessions are made there
            raise graph_refusal(graph.backend, error) from error
        self._page.forget_arrays()

    def __call__(self) -> Generated:
        """Generate once; the first token comes with the filling of the cache."""
        answer = self._page.call("generate", self._number)
        self._graph.caches = _described(answer["caches"])
        times = [*map(nanoseconds, answer["times"])]
        return Generated(0, times, np.array(answer["tokens"], np.int64).T)

    def forced(self, tokens: Tokens) -> FloatArray:
        """The logits before each of these tokens, through the same cache."""
        steps = self._page.posted("forced", self._number, {"tokens": tokens.T.tolist()})
        return np.stack([step[:, -1].astype(np.float32) for step in steps], axis=1)


def _arrays(page: WebPage, feeds: Feeds) -> Mapping[str, object]:
    return {name: page.array(array) for name, array in feeds.items()}


def _described(caches: Mapping[str, str | None]) -> str:
    """The memory that caches lie in between two steps, as the runtime calls it."""
    location, refusal = str(caches["location"]), caches["refusal"]
    return f"{location}, as the provider refuses its own memory: {refusal}" if refusal else location


def _last_positions(model: ModelSpec, inputs: Inputs) -> Mapping[str, object]:
    """The positions of the prompt's last tokens, to which the page adds 1 for each new one."""
    last = position_ids(model, inputs)[..., -1:]
    return {"values": last.ravel().tolist(), "dims": list(last.shape)}
