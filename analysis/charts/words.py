"""Words of charts: numbers, questions and names as titles and sentences have them."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.statistics.rounding import rounded
from runner.contract.axes import SIZE_AXES
from runner.contract.synonyms import axis_words

_LONGEST_NAME = 80


def digits_of(value: float) -> str:
    """A number with three digits that count, e.g. `4.23` and `12,300`."""
    number = rounded(value, 3)
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:g}"


def amount(value: float, unit: str) -> str:
    """A number with its unit."""
    return f"{digits_of(value)} {unit}".rstrip()


def path_words(facts: Mapping[str, Any]) -> str:
    """A backend with its runtime, which is not said twice."""
    backend, runtime = facts["backend"], facts["runtime"]
    return str(backend) if runtime in (None, backend) else f"{backend} {runtime}"


def size_words(facts: Mapping[str, Any], *left_out: str) -> list[str]:
    """The sizes of a result that are not left out, e.g. `batch 8` and `128 tokens`."""
    return [
        axis_words(name, facts[name])
        for name in SIZE_AXES
        if name not in left_out and facts.get(name) is not None
    ]


def question_words(facts: Mapping[str, Any], *left_out: str) -> str:
    """Properties that the results of a question share, e.g. `bert-tiny, fp32, 128 tokens`."""
    names = ("model", "precision", "mode", "scenario")
    shared = [str(facts[name]) for name in names if name not in left_out and facts.get(name)]
    words = [word for word in shared if word != "single_stream"]
    threads = facts.get("asked_threads")
    wide = [axis_words("threads", threads)] if threads else []
    return ", ".join([*words, *size_words(facts, *left_out), *wide])


def listed(words: Sequence[str]) -> str:
    """Words as a list in a sentence."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def file_stem(*parts: object) -> str:
    """A name for files, of letters, digits, points and hyphens."""
    text = "-".join(str(part) for part in parts if part not in (None, ""))
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:_LONGEST_NAME]


def noun_count(number: int, noun: str) -> str:
    """A number of things, e.g. `1 launch` and `3 launches`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}{'es' if noun.endswith(('ch', 's', 'x')) else 's'}"


def distinct_rows(rows: Iterable[tuple[str, object]]) -> list[str]:
    """Names of rows, alike ones told apart by what stands beside them, else by a number."""
    pairs = list(rows)
    names = Counter(name for name, _ in pairs)
    beside = [f"{name} ({fact})" if names[name] > 1 and fact else name for name, fact in pairs]
    seen: Counter[str] = Counter()
    distinct = []
    for name in beside:
        seen[name] += 1
        distinct.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return distinct


def in_order(values: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """The distinct values, those that are known first and in their order."""
    distinct = set(values)
    first = [name for name in known if name in distinct]
    return (*first, *sorted(distinct.difference(first)))
