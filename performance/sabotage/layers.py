"""Faults of whole layers: their order, residuals, positions, statistics and heads."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, cast
from unittest.mock import patch

import torch
from transformers import LogitsProcessor, LogitsProcessorList
from transformers.integrations import sdpa_attention

from performance.sabotage.attention import Model, hooked
from performance.sabotage.parts import Inapplicable, layers, stack


def hooked_outputs(
    find: Callable[[Model], list[Any]], change: Callable[[Any, Any], Any]
) -> Callable[[Model], AbstractContextManager[None]]:
    """Change the outputs of modules; the function gets inputs and outputs."""

    def fault(model: Model) -> AbstractContextManager[None]:
        def hook(_: Any, arguments: Any, named: Any, outputs: Any) -> Any:
            given = arguments[0] if arguments else named.get("hidden_states")
            return change(given, outputs)

        found = find(model)
        return hooked([part.register_forward_hook(hook, with_kwargs=True) for part in found])

    return fault


def last_layer(model: Model) -> list[Any]:
    """The last layer of the stack that comes last."""
    return layers(model)[-1:]


def without_residual(given: Any, outputs: Any) -> Any:
    """What a layer adds, without what it is added to."""
    return _on_first(lambda hidden: hidden - given, outputs)


def skipped(given: Any, outputs: Any) -> Any:
    """What goes in comes out."""
    return _on_first(lambda _: given, outputs)


def moved_positions(_: Any, outputs: Any) -> Any:
    """Each position has the features of the one before, as where the wrong token is pooled."""
    return _on_first(lambda hidden: hidden.roll(1, -2), outputs)


def _on_first(change: Callable[[torch.Tensor], torch.Tensor], outputs: Any) -> Any:
    if isinstance(outputs, tuple):
        return (change(outputs[0]), *outputs[1:])
    return change(outputs)


@contextmanager
def swapped_layers(model: Model) -> Iterator[None]:
    """The last two layers come in the wrong order."""
    modules = stack(model)
    earlier, later = modules[-2], modules[-1]
    shapes = [[value.shape for value in layer.parameters()] for layer in (earlier, later)]
    if shapes[0] != shapes[1]:
        raise Inapplicable
    modules[-2], modules[-1] = later, earlier
    try:
        yield
    finally:
        modules[-2], modules[-1] = earlier, later


def in_training(*kinds: type[Any]) -> Callable[[Model], AbstractContextManager[None]]:
    """Layers of these kinds work as in training: they drop values, or take a batch's statistics."""

    @contextmanager
    def fault(model: Model) -> Iterator[None]:
        chosen = [
            part for part in model.modules() if isinstance(part, kinds) and getattr(part, "p", 1.0)
        ]
        if not chosen:
            raise Inapplicable
        torch.manual_seed(0)
        for part in chosen:
            part.train()
        try:
            yield
        finally:
            for part in chosen:
                part.eval()

    return fault


def convolutions(model: Model) -> list[Any]:
    """Convolutions whose windows overlap."""
    kinds = (torch.nn.Conv1d, torch.nn.Conv2d)
    found = [part for part in model.modules() if isinstance(part, kinds)]
    return [part for part in found if part.kernel_size[-1] > part.stride[-1]]


def moved_windows(_: Any, outputs: Any) -> Any:
    """Windows that begin one step too late, as by a wrong padding."""
    return outputs.roll(1, -1)


@contextmanager
def tiled_heads(model: Model) -> Iterator[None]:
    """Shared keys and values are repeated as a whole, not each next to itself."""
    del model
    repeated: list[int] = []

    def repeat(heads: torch.Tensor, times: int) -> torch.Tensor:
        if heads.shape[1] > 1 and times > 1:
            repeated.append(times)
        return heads.repeat(1, times, 1, 1)

    with (
        patch.object(sdpa_attention, "repeat_kv", repeat),
        patch.object(sdpa_attention, "use_gqa_in_sdpa", lambda *_: False),
        patch.object(sdpa_attention, "is_torchdynamo_compiling", lambda: True),
    ):
        yield
    if not repeated:
        raise Inapplicable


@contextmanager
def untied_head(model: Model) -> Iterator[None]:
    """The head that shares its weight with the embedding has another one."""
    head = model.get_output_embeddings()
    weight = getattr(head, "weight", None)
    if not isinstance(weight, torch.nn.Parameter):
        raise Inapplicable
    if weight is not model.get_input_embeddings().weight:
        raise Inapplicable
    head.weight = torch.nn.Parameter(weight.roll(1, 0), requires_grad=False)
    try:
        yield
    finally:
        head.weight = weight


class WithoutLikeliest(LogitsProcessor):
    """Makes the likeliest token impossible."""

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """The scores with the largest of each sample at minus infinity."""
        del input_ids
        lowered = scores.scatter(1, scores.argmax(-1, keepdim=True), -torch.inf)
        return cast("torch.FloatTensor", lowered)


@contextmanager
def unlikely_tokens(model: Model) -> Iterator[None]:
    """The second likeliest token is chosen, with logits that are right."""
    generate = model.generate

    def choosing(**options: Any) -> Any:
        usual = {"logits_processor": LogitsProcessorList([WithoutLikeliest()])}
        return generate(**(usual | options))

    model.generate = choosing
    try:
        yield
    finally:
        del model.generate
