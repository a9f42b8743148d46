"""Stand-ins for the parts of a generating graph, computed without a runtime."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from runner.backends.graphs.generation import Executor
from runner.contract.graph import Graph, GraphPart, Part
from tests.support.fakes import FakeClock
from tests.support.jobs import a_graph

VOCABULARY = 50
PREFILL_NS, DECODE_NS = 1000, 100
KEYS = "past_key_values.layers.0.keys"
CROSS = "past_key_values.cross_attention_cache.layers.0.keys"


@dataclass(frozen=True)
class Held:
    """A value that lies on a device: only `read` may look inside."""

    array: npt.NDArray[Any]


@dataclass
class Counting:
    """A part after which the token that is one higher is the most likely one."""

    clock: FakeClock
    tokens: str
    """The name of the argument that holds them."""
    gives: tuple[str, ...]
    """Names of its caches, each a new value in every call."""
    duration_ns: int
    calls: list[Mapping[str, Any]] = field(default_factory=list)
    """The inputs of all calls."""
    given: list[Mapping[str, Any]] = field(default_factory=list)
    """The outputs of all calls."""
    reads: list[str] = field(default_factory=list)
    """Names of the outputs that were read on the host, in order."""

    def place(self, name: str, array: npt.NDArray[np.generic]) -> Held:
        del name
        return Held(array)

    def __call__(self, feeds: Mapping[str, Any]) -> Mapping[str, Any]:
        """Pass the time, and give logits and the most likely token of the last place."""
        self.clock.pass_by(self.duration_ns)
        likeliest = (feeds[self.tokens].array[:, -1] + 1) % VOCABULARY
        logits = np.eye(VOCABULARY, dtype=np.float32)[likeliest]
        outputs: dict[str, Any] = {name: Held(np.empty(0)) for name in self.gives}
        outputs["logits"] = Held(logits[:, np.newaxis])
        outputs["next_tokens"] = Held(likeliest[:, np.newaxis])
        self.calls.append(dict(feeds))
        self.given.append(outputs)
        return outputs

    def read(self, value: Any) -> npt.NDArray[Any]:
        self.reads += [name for name, output in self.given[-1].items() if output is value]
        array: npt.NDArray[Any] = value.array
        return array


@dataclass
class Counter:
    """Both parts of a decoder, or of an encoder-decoder, and the graph that describes them."""

    clock: FakeClock
    encoder_decoder: bool = False
    more: tuple[str, ...] = ()
    """Further inputs of the decoding part."""

    def __post_init__(self) -> None:
        tokens = "decoder_input_ids" if self.encoder_decoder else "input_ids"
        caches = (KEYS, CROSS) if self.encoder_decoder else (KEYS,)
        changing = (f"output.{KEYS}",)
        self.prefill = Counting(self.clock, tokens, caches, PREFILL_NS)
        self.decode = Counting(self.clock, tokens, changing, DECODE_NS)
        taken = tuple(f"input.{name}" for name in caches)
        extra = ("attention_mask",) if self.encoder_decoder else ("position_ids",)
        prompt = ("input_ids", *extra, tokens if self.encoder_decoder else "logits_to_keep")
        self.graph = generating_graph(prompt, (tokens, *extra, *taken, *self.more))

    @property
    def executors(self) -> Mapping[Part, Executor]:
        return {"prefill": self.prefill, "decode": self.decode}


def generating_graph(prefill: tuple[str, ...], decode: tuple[str, ...]) -> Graph:
    """A graph whose parts take these inputs."""
    parts: dict[Part, GraphPart] = {
        name: GraphPart(file=f"{name}.onnx", sha256="0", size_bytes=1, inputs=takes, outputs=())
        for name, takes in (("prefill", prefill), ("decode", decode))
    }
    return a_graph(parts, content="generation")
