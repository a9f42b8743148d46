"""The decode loop over parts that count, without any runtime."""

import numpy as np
import pytest

from runner.backends.graphs.generation import DecodeLoop, GraphGenerator
from runner.inputs import Inputs
from tests.support.decoding import DECODE_NS, KEYS, PREFILL_NS, Counter
from tests.support.fakes import FakeClock
from tests.support.tiny_models import tiny_decoder, tiny_encoder_decoder

PROMPT: Inputs = {
    "input_ids": np.array([[7, 8, 9], [1, 2, 3]]),
    "attention_mask": np.ones((2, 3), dtype=np.int64),
}


def counter(*, encoder_decoder: bool = False, more: tuple[str, ...] = ()) -> Counter:
    return Counter(FakeClock(), encoder_decoder, more)


def generator(parts: Counter, new_tokens: int, inputs: Inputs = PROMPT) -> GraphGenerator:
    model = tiny_encoder_decoder() if parts.encoder_decoder else tiny_decoder()
    loop = DecodeLoop(model, parts.graph.takes, parts.executors, inputs)
    return GraphGenerator(loop, new_tokens, parts.clock)


@pytest.mark.parametrize("new_tokens", [1, 2, 5])
def test_as_many_tokens_come_as_are_asked_for(new_tokens: int) -> None:
    parts = counter()
    generated = generator(parts, new_tokens)()
    expected = np.array([[10], [4]]) + np.arange(new_tokens)
    assert generated.tokens.tolist() == expected.tolist()
    assert len(generated.token_times_ns) == new_tokens
    assert len(parts.decode.calls) == new_tokens - 1


def test_each_token_is_timed_as_it_reaches_the_host() -> None:
    parts = counter()
    generated = generator(parts, 3)()
    reading = 1
    first = generated.started_ns + PREFILL_NS + reading
    step = DECODE_NS + reading
    assert generated.token_times_ns == [first, first + step, first + 2 * step]


def test_placing_the_prompt_is_not_timed_and_done_once() -> None:
    parts = counter()
    generate = generator(parts, 2)
    began = [generate().started_ns, generate().started_ns]
    assert began[0] == 1
    assert parts.prefill.calls[0]["input_ids"] is parts.prefill.calls[1]["input_ids"]


def test_tokens_stay_on_the_device_and_logits_are_never_read() -> None:
    parts = counter()
    generator(parts, 4)()
    given = [parts.prefill.given[0], *parts.decode.given]
    taken = [feeds["input_ids"] for feeds in parts.decode.calls]
    assert all(one is other["next_tokens"] for one, other in zip(taken, given, strict=False))
    assert set(parts.prefill.reads + parts.decode.reads) == {"next_tokens"}


def test_forced_tokens_are_fed_whatever_is_likeliest() -> None:
    parts = counter()
    forced = np.array([[20, 30, 40], [21, 31, 41]])
    logits = generator(parts, 9).forced(forced)
    assert logits.argmax(axis=-1).tolist() == [[10, 21, 31], [4, 22, 32]]
    assert [feeds["input_ids"].array.T.tolist() for feeds in parts.decode.calls] == [
        [[20, 21]],
        [[30, 31]],
    ]


def test_every_generation_begins_with_the_prompt_again() -> None:
    parts = counter()
    generate = generator(parts, 3)
    assert generate().tokens.tolist() == generate().tokens.tolist()
    assert parts.decode.calls[2][f"input.{KEYS}"] is parts.prefill.given[1][KEYS]
    places = [feeds["position_ids"].array.tolist() for feeds in parts.decode.calls]
    assert places == [[[3], [3]], [[4], [4]]] * 2
