"""Words of charts: numbers, questions and names as titles and sentences have them."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.results.differing import USUAL_SCENARIO, fact_words
from analysis.results.series import ASKED_THREADS
from runner.contract.axes import SIZE_AXES

_LONGEST_NAME = 80


def path_words(facts: Mapping[str, Any]) -> str:
    """A backend with its runtime, which is not said twice."""
    backend, runtime = facts["backend"], facts["runtime"]
    return str(backend) if runtime in (None, backend) else f"{backend} {runtime}"


def size_words(facts: Mapping[str, Any], *left_out: str) -> list[str]:
    """The sizes of a result that are not left out, e.g. `batch 8` and `128 tokens`."""
    return fact_words({name: facts.get(name) for name in SIZE_AXES if name not in left_out})


def question_words(facts: Mapping[str, Any], *left_out: str) -> str:
    """Properties that the results of a question share, e.g. `bert-tiny, fp32, 128 tokens`."""
    names = ("model", "precision", "mode", "scenario", *SIZE_AXES)
    kept = [*(name for name in names if name not in left_out), ASKED_THREADS]
    said = {name: facts.get(name) for name in kept if facts.get(name) != USUAL_SCENARIO}
    return ", ".join(fact_words(said))


def listed(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def uppercase_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def file_stem(*parts: object) -> str:
    """A name for files, of letters, digits, points and hyphens."""
    text = "-".join(str(part) for part in parts if part not in (None, ""))
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:_LONGEST_NAME]


def noun_count(number: int, noun: str) -> str:
    """A number of things, e.g. `1 launch` and `3 launches`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}{'es' if noun.endswith(('ch', 's', 'x')) else 's'}"


def remainder_words(number: int, noun: str, words: str) -> str:
    """A further sentence on so many things, e.g. ` 3 rows are not drawn.`; empty for none."""
    return f" {noun_count(number, noun)} {words}" if number > 0 else ""


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
