"""The decode loop over parts that count, without any runtime."""

import numpy as np
import pytest

from runner.backends.graphs.generation import DecodeLoop, GraphGenerator
from runner.contract.errors import Unsupported
from runner.inputs import Inputs
from tests.support.decoding import CROSS, DECODE_NS, KEYS, PREFILL_NS, Counter
from tests.support.fakes import FakeClock
from tests.support.tiny_models import tiny_decoder, tiny_encoder_decoder
from tests.support.words import raises_words

PROMPT: Inputs = {
    "input_ids": np.array([[7, 8, 9], [1, 2, 3]]),
    "attention_mask": np.ones((2, 3), dtype=np.int64),
}


def counter(*, encoder_decoder: bool = False, more: tuple[str, ...] = ()) -> Counter:
    return Counter(FakeClock(), encoder_decoder, more)


def generator(parts: Counter, new_tokens: int, inputs: Inputs = PROMPT) -> GraphGenerator:
    model = tiny_encoder_decoder() if parts.encoder_decoder else tiny_decoder()
    return GraphGenerator(model, parts.graph, parts.executors, inputs, new_tokens, parts.clock)


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


def test_caches_are_handed_on_as_they_are() -> None:
    parts = counter()
    generator(parts, 4)()
    given = [parts.prefill.given[0][KEYS]]
    given += [outputs[f"output.{KEYS}"] for outputs in parts.decode.given]
    taken = [feeds[f"input.{KEYS}"] for feeds in parts.decode.calls]
    assert all(one is other for one, other in zip(taken, given, strict=False))


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


def test_the_cache_of_an_encoder_stays_the_one_that_the_prompt_gave() -> None:
    parts = counter(encoder_decoder=True)
    generator(parts, 4)()
    taken = [feeds[f"input.{CROSS}"] for feeds in parts.decode.calls]
    assert all(value is parts.prefill.given[0][CROSS] for value in taken)


def test_every_generation_begins_with_the_prompt_again() -> None:
    parts = counter()
    generate = generator(parts, 3)
    assert generate().tokens.tolist() == generate().tokens.tolist()
    assert parts.decode.calls[2][f"input.{KEYS}"] is parts.prefill.given[1][KEYS]
    places = [feeds["position_ids"].array.tolist() for feeds in parts.decode.calls]
    assert places == [[[3], [3]], [[4], [4]]] * 2


def test_a_decoder_is_asked_for_the_logits_of_the_last_place() -> None:
    parts = counter()
    generator(parts, 2)()
    (prompt,) = parts.prefill.calls
    assert prompt["logits_to_keep"].array.tolist() == [2]
    assert prompt["position_ids"].array.tolist() == [[0, 1, 2], [0, 1, 2]]
    assert "attention_mask" not in prompt


def test_a_decoder_behind_an_encoder_begins_with_its_start_token() -> None:
    parts = counter(encoder_decoder=True)
    prompt = {**PROMPT, "decoder_input_ids": np.full((2, 4), 9)}
    generated = generator(parts, 2, prompt)()
    assert parts.prefill.calls[0]["decoder_input_ids"].array.tolist() == [[0], [0]]
    assert generated.tokens.tolist() == [[1, 2], [1, 2]]


def test_the_mask_over_an_encoders_text_goes_into_every_step() -> None:
    parts = counter(encoder_decoder=True)
    padded = {**PROMPT, "attention_mask": np.array([[1, 1, 0], [1, 1, 1]])}
    generator(parts, 3, padded)()
    masks = [feeds["attention_mask"].array.tolist() for feeds in parts.decode.calls]
    assert masks == [[[1, 1, 0], [1, 1, 1]]] * 2


def test_a_graph_of_a_forward_pass_does_not_generate() -> None:
    with raises_words(Unsupported, match="tiny has no part that extends a cache"):
        DecodeLoop(tiny_decoder(), {"forward": ("input_ids",)}, {}, PROMPT)


def test_inputs_that_nobody_gives_are_named() -> None:
    with raises_words(Unsupported, match="takes beam_idx, which nothing gives"):
        generator(counter(more=("beam_idx",)), 2)
