"""Forward passes over inputs that lie on the device, and greedy generation after a prompt."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
import transformers
from transformers.generation.streamers import BaseStreamer

from runner.backends.base import FloatArray, Generated
from runner.backends.graphs.session import CACHES
from runner.backends.torch.device import Wait
from runner.contract.errors import Unsupported
from runner.contract.reasons import reason
from runner.measure.clock import Clock


class TorchQuery:
    """A model's forward pass over fixed inputs."""

    def __init__(
        self,
        model: torch.nn.Module,
        inputs: Mapping[str, torch.Tensor],
        constants: Mapping[str, bool],
        wait: Wait,
        cast: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._model = model
        self._wait = wait
        self._cast = cast
        self.arguments: dict[str, torch.Tensor | bool] = {**inputs, **constants}

    def __call__(self) -> object:
        """Execute the forward pass and wait for the device."""
        with torch.inference_mode(), self._cast():
            outputs = self._model(**self.arguments)
        self._wait()
        return outputs


class EmptyModel(torch.nn.Module):
    """A model that computes nothing."""

    def forward(self) -> None:
        """Return at once."""


def named_tensors(outputs: object, name: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor with its dotted path, e.g. `hidden_states.0`."""
    if isinstance(outputs, torch.Tensor):
        yield name, outputs
    elif isinstance(outputs, Mapping | list | tuple):
        items = outputs.items() if isinstance(outputs, Mapping) else enumerate(outputs)
        for key, value in items:
            yield from named_tensors(value, f"{name}.{key}" if name else str(key))


def all_tensors(outputs: object) -> list[torch.Tensor]:
    return [tensor for _, tensor in named_tensors(outputs)]


def float_arrays(outputs: object) -> dict[str, FloatArray]:
    """The floating-point tensors on the host, by dotted path, without caches."""
    return {
        name: tensor.detach().to("cpu", torch.float32).numpy()
        for name, tensor in named_tensors(outputs)
        if tensor.is_floating_point() and name.split(".")[0] not in CACHES
    }


def device_names(tensors: Iterable[torch.Tensor]) -> set[str]:
    """The devices that hold these tensors, as torch writes them: `cpu`, `cuda:1`."""
    return {str(tensor.device) for tensor in tensors}


class _TokenTimes(BaseStreamer):
    """Reads the clock at each step's tokens, which transformers hands over behind the prompt."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen_prompt = False
        self.times_ns: list[int] = []
        self.steps: list[torch.Tensor] = []

    def put(self, value: torch.Tensor) -> None:
        now = self._clock()
        if self._seen_prompt:
            self.times_ns.append(now)
            self.steps.append(value)
        self._seen_prompt = True

    def end(self) -> None:
        """Nothing is held back."""


class _ForcedTokens(transformers.LogitsProcessor):
    """Leaves one token possible at each step, whatever the logits say."""

    def __init__(self, tokens: npt.NDArray[np.int64]) -> None:
        self._tokens = iter(torch.from_numpy(tokens.T.copy()))

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        del input_ids
        forced = torch.full_like(scores, -torch.inf)
        tokens = next(self._tokens).to(scores.device).unsqueeze(1)
        return cast("torch.FloatTensor", forced.scatter(1, tokens, 0.0))


class TorchGenerator:
    """Transformers' own greedy `generate` of a forced number of tokens after a fixed prompt."""

    def __init__(
        self, model: Any, inputs: Mapping[str, torch.Tensor], new_tokens: int, clock: Clock
    ) -> None:
        if not model.can_generate():
            raise Unsupported(reason("cannot_generate", model_class=type(model).__name__))
        self._model = model
        self._clock = clock
        self._inputs = dict(inputs)
        if model.config.is_encoder_decoder:
            self._inputs.pop("decoder_input_ids", None)
        own = model.generation_config
        self._config = transformers.GenerationConfig(  # type: ignore[no-untyped-call]
            do_sample=False,
            num_beams=1,
            min_new_tokens=new_tokens,
            max_new_tokens=new_tokens,
            use_cache=True,
            eos_token_id=None,
            bos_token_id=own.bos_token_id,
            pad_token_id=own.pad_token_id or 0,
            decoder_start_token_id=own.decoder_start_token_id,
        )
        # Where this config says nothing, the model's own would count: its end-of-text token.
        model.generation_config = self._config

    def __call__(self) -> Generated:
        times = _TokenTimes(self._clock)
        with torch.inference_mode():
            started = self._clock()
            self._model.generate(**self._inputs, generation_config=self._config, streamer=times)
        steps = times.steps
        tokens = torch.stack(steps, dim=1).numpy() if steps else np.empty((0, 0), dtype=np.int64)
        return Generated(started, times.times_ns, tokens)

    def forced(self, tokens: npt.NDArray[np.int64]) -> FloatArray:
        """The logits before each of these tokens, by the same `generate` and its cache."""
        config = copy(self._config)
        config.min_new_tokens = config.max_new_tokens = tokens.shape[1]
        config.output_logits = config.return_dict_in_generate = True
        processors = transformers.LogitsProcessorList([_ForcedTokens(tokens)])
        with torch.inference_mode():
            options = {"generation_config": config, "logits_processor": processors}
            result = self._model.generate(**self._inputs, **options)
        return torch.stack(result.logits, dim=1).to("cpu", torch.float32).numpy()
