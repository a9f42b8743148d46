"""Inputs of prepared graphs: of a forward pass and of the prefill part, computed with numpy."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from runner.contract.errors import Unsupported
from runner.contract.graph import Graph
from runner.contract.models import ModelSpec
from runner.contract.reasons import reason
from runner.inputs import MASK, Inputs

Tokens = npt.NDArray[np.int64]
Feeds = dict[str, npt.NDArray[np.generic]]

LOGITS = "logits"
NEXT_TOKENS = "next_tokens"
"""The most likely token behind each position [batch, positions], so that logits stay behind."""
LOGITS_TO_KEEP = "logits_to_keep"
"""The positions of a prompt, int64 [positions], after which the next token's logits are wanted."""
POSITIONS = "position_ids"
MODALITIES = "mm_token_type_ids"
"""The modality of each token of a prompt: 0 for text, 1 for an image."""
_GRIDS = "image_grid_thw"
"""Patches of each image in time, height and width, int64 [images, 3]."""
_SPATIAL_MERGE = 2
"""Patches in each direction that become one token, where the configuration does not tell."""


def token_input(model: ModelSpec) -> str:
    """The name of the argument that takes the text generated so far."""
    return "decoder_input_ids" if model.encoder_decoder else "input_ids"


def prompt_inputs(model: ModelSpec, inputs: Inputs) -> Feeds:
    """The inputs that fill the cache; of a prompt, with logits for its last position alone."""
    if model.encoder_decoder:
        return {**inputs, token_input(model): start_tokens(model, inputs)}
    last = np.array([inputs[token_input(model)].shape[-1] - 1])
    return {**forward_inputs(model, inputs), LOGITS_TO_KEEP: last}


def forward_inputs(model: ModelSpec, inputs: Inputs) -> Feeds:
    """The inputs with which the same part computes the forward pass: logits at each position."""
    if model.encoder_decoder:
        return dict(inputs)
    if not np.all(inputs.get(MASK, np.ones(1))):
        raise Unsupported(reason("padded_prompts"))
    kept = np.arange(inputs[token_input(model)].shape[-1])
    return {**inputs, POSITIONS: position_ids(model, inputs), LOGITS_TO_KEEP: kept}


def select_inputs(wanted: Iterable[str], given: Inputs) -> Feeds:
    names = list(wanted)
    if missing := [name for name in names if name not in given]:
        raise Unsupported(reason("graph_wants_inputs", inputs=", ".join(missing)))
    return {name: np.ascontiguousarray(given[name]) for name in names}


def forward_pass(graph: Graph, model: ModelSpec, inputs: Inputs) -> tuple[Graph, Feeds]:
    """The graph of the parts that one forward pass takes, all but `decode`, and their inputs."""
    if graph.content == "forward":
        return graph, select_inputs(_from_outside(graph), inputs)
    parts = {name: part for name, part in graph.parts.items() if name != "decode"}
    filling = graph.model_copy(update={"parts": parts})
    return filling, select_inputs(_from_outside(filling), forward_inputs(model, inputs))


def _from_outside(graph: Graph) -> list[str]:
    """The inputs of parts that no part before them gives, each once."""
    names: dict[str, None] = {}
    given: set[str] = set()
    for part in graph.parts.values():
        names |= dict.fromkeys(name for name in part.inputs if name not in given)
        given.update(part.outputs)
    return list(names)


def position_ids(model: ModelSpec, inputs: Inputs) -> Tokens:
    """The position of each token, int64 [batch, tokens]; [3, batch, tokens] with image patches."""
    tokens = inputs[token_input(model)]
    if model.image_prompt == "grid":
        return _grid_positions(model, inputs)
    return np.broadcast_to(np.arange(tokens.shape[1]), tokens.shape).copy()


def next_position(positions: Tokens) -> Tokens:
    """That of one more token of text, shape [batch, 1] or [3, batch, 1]."""
    return positions[..., -1:] + 1


def start_tokens(model: ModelSpec, inputs: Inputs) -> Tokens:
    """The token before the first generated one, shape [batch, 1]."""
    start = model.config.get("decoder_start_token_id")
    if start is None:
        raise Unsupported(reason("no_decoder_start", model=model.name))
    batch = next(iter(inputs.values())).shape[0]
    return np.full((batch, 1), start, dtype=np.int64)


def _grid_positions(model: ModelSpec, inputs: Inputs) -> Tokens:
    """In time, height and width: text advances in all three, an image spans a box of them."""
    vision: Mapping[str, Any] = model.config.get("vision_config", {})
    merge = vision.get("spatial_merge_size", _SPATIAL_MERGE)
    grids = iter(inputs[_GRIDS] // [1, merge, merge])
    return np.stack([_sample_positions(sample, grids) for sample in inputs[MODALITIES]], axis=1)


def _sample_positions(modalities: npt.NDArray[Any], grids: Iterable[npt.NDArray[Any]]) -> Tokens:
    """Those of one prompt, shape [3, tokens]; takes as many grids as the prompt has images."""
    parts, start, images = [], 0, iter(grids)
    for is_image, tokens in groupby(modalities.tolist(), key=bool):
        shape = next(images) if is_image else (len(list(tokens)),)
        box = np.indices(tuple(shape)).reshape(len(shape), -1) + start
        parts.append(np.broadcast_to(box, (3, box.shape[1])))
        start += int(max(shape[1:] if is_image else shape))
    return np.concatenate(parts, axis=1).astype(np.int64)
