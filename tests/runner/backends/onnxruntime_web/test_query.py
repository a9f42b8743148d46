"""Graphs and generations in a page: files of weights, and outputs of steps in a real browser."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

import onnx
import pytest
from playwright.sync_api import Page

from runner.backends.graphs.feeds import forward_pass
from runner.backends.onnxruntime_web.browser import started_browser
from runner.backends.onnxruntime_web.page import WebPage
from runner.backends.onnxruntime_web.query import WebGenerator, WebGraph, external_files
from runner.contract.axes import Backend
from runner.contract.errors import Unsupported
from runner.contract.graph import find_graph
from runner.contract.models import ModelSpec
from runner.contract.web import BUNDLES
from runner.inputs import synthesise
from tests.support.onnx_graphs import layer
from tests.support.prepared import PreparedGraphs
from tests.support.tiny_models import generating_job, tiny_decoder
from tests.support.words import raises_words

STEPS = 4
NOTE = """async (bundle) => {
    const { InferenceSession } = await import(`../runtime/${bundle}`);
    const run = InferenceSession.prototype.run;
    window.noted = [];
    InferenceSession.prototype.run = async function (...passed) {
        const outputs = await run.apply(this, passed);
        const places = Object.entries(outputs).map(([name, { location }]) => [name, location]);
        window.noted.push(Object.fromEntries(places));
        return outputs;
    };
}"""
TAKE_NOTED = "() => window.noted.splice(0)"


class Generation(NamedTuple):
    generate: WebGenerator
    tab: Page

    def steps(self) -> list[dict[str, str]]:
        steps: list[dict[str, str]] = self.tab.evaluate(TAKE_NOTED)
        return steps


@contextmanager
def generation(
    backend: Backend, model: ModelSpec, prepared: PreparedGraphs
) -> Iterator[Generation]:
    job = prepared.named(generating_job(model, "onnxruntime_web", backend=backend))
    graph, folder = find_graph(job, job.cells[0], prepared.folder)
    inputs = synthesise(model, job.cells[0], job.weights_seed)
    feeds = forward_pass(graph, model, inputs)[1]
    with (
        started_browser(backend, software=backend == "webgpu") as browser,
        closing(WebPage(browser, backend, 1)) as page,
    ):
        web_graph = WebGraph(page, backend, graph, folder, feeds)
        generate = WebGenerator(web_graph, model, inputs, STEPS)
        (tab,) = browser.browser.contexts[0].pages
        tab.evaluate(NOTE, BUNDLES[backend])
        yield Generation(generate, tab)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "memory"),
    [
        ("wasm", "cpu"),
        ("webnn", "ml-tensor"),
        pytest.param("webgpu", "gpu-buffer", marks=pytest.mark.nightly),
    ],
)
def test_timed_steps_give_tokens_and_caches_and_forced_ones_give_logits(
    backend: Backend, memory: str, prepared: PreparedGraphs
) -> None:
    with generation(backend, tiny_decoder(), prepared) as noted:
        tokens = noted.generate().tokens
        timed = noted.steps()
        logits = noted.generate.forced(tokens)
        forced = noted.steps()
    assert (logits.argmax(axis=-1) == tokens).all()
    for steps, wanted in ((timed, "next_tokens"), (forced, "logits")):
        assert len(steps) == STEPS
        for step in steps:
            assert step.pop(wanted) == "cpu"
            assert step
            assert set(step.values()) == {memory}
            assert all("past_key_values" in name for name in step)


def with_weights_at(location: str) -> onnx.ModelProto:
    model = layer()
    weights = model.graph.initializer[0]
    weights.data_location = onnx.TensorProto.EXTERNAL
    entry = weights.external_data.add()
    entry.key, entry.value = "location", location
    return model


@pytest.mark.parametrize("location", ["../secret", "/etc/passwd", "folder/weights"])
def test_weights_outside_of_the_folder_are_refused(location: str) -> None:
    with raises_words(Unsupported, match="outside its folder"):
        external_files(with_weights_at(location))
