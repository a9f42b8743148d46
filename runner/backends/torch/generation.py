"""Greedy generation of a forced number of tokens, each one timed."""

from collections.abc import Mapping
from copy import copy
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
import transformers
from transformers.generation.streamers import BaseStreamer

from runner.backends.base import FloatArray, Generated
from runner.contract.errors import Unsupported
from runner.contract.reasons import reason
from runner.measure.clock import Clock


class TokenTimes(BaseStreamer):
    """Reads the clock as each step's tokens reach the host.

    Transformers hands over the prompt first (the start token, with an encoder-decoder), then the
    tokens of each step, shape [batch_size].
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen_prompt = False
        self.times_ns: list[int] = []
        self.steps: list[torch.Tensor] = []

    def put(self, value: torch.Tensor) -> None:
        """Keep one step's tokens and their time."""
        now = self._clock()
        if self._seen_prompt:
            self.times_ns.append(now)
            self.steps.append(value)
        self._seen_prompt = True

    def end(self) -> None:
        """Nothing is held back."""


class ForcedTokens(transformers.LogitsProcessor):
    """Leaves one token possible at each step, whatever the logits say."""

    def __init__(self, tokens: npt.NDArray[np.int64]) -> None:
        self._tokens = iter(torch.from_numpy(tokens.T.copy()))

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """The scores with all but the next token at minus infinity."""
        del input_ids
        forced = torch.full_like(scores, -torch.inf)
        tokens = next(self._tokens).to(scores.device).unsqueeze(1)
        return cast("torch.FloatTensor", forced.scatter(1, tokens, 0.0))


class TorchGenerator:
    """Transformers' own `generate` over a fixed prompt."""

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
        self._config = _greedy(model.generation_config, new_tokens)
        # Where this config says nothing, the model's own would count: its end-of-text token.
        model.generation_config = self._config

    def __call__(self) -> Generated:
        """Generate once."""
        times = TokenTimes(self._clock)
        with torch.inference_mode():
            started = self._clock()
            self._model.generate(**self._inputs, generation_config=self._config, streamer=times)
        return Generated(started, times.times_ns, _stacked(times.steps))

    def forced(self, tokens: npt.NDArray[np.int64]) -> FloatArray:
        """The logits before each of these tokens, by the same `generate` and its cache."""
        config = copy(self._config)
        config.min_new_tokens = config.max_new_tokens = tokens.shape[1]
        config.output_logits = config.return_dict_in_generate = True
        processors = transformers.LogitsProcessorList([ForcedTokens(tokens)])
        with torch.inference_mode():
            result = self._model.generate(
                **self._inputs, generation_config=config, logits_processor=processors
            )
        return torch.stack(result.logits, dim=1).to("cpu", torch.float32).numpy()


def _greedy(own: Any, new_tokens: int) -> transformers.GenerationConfig:
    """Greedy search with a key-value cache that no token ends early."""
    return transformers.GenerationConfig(  # type: ignore[no-untyped-call]
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


def _stacked(steps: list[torch.Tensor]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The tokens of all steps, shape [batch_size, steps]."""
    if not steps:
        return np.empty((0, 0), dtype=np.int64)
    return torch.stack(steps, dim=1).numpy()
