"""Words of predictions: how much of a question was measured, numbers in customary units, trust."""

from collections.abc import Iterator, Mapping

from analysis.predict.manifest import PredictorManifest, Sources
from analysis.predict.novelty_words import NAMED_NOVELTIES
from analysis.results.source import OWN_SOURCES
from analysis.statistics.numbers import percent_text
from orchestrator.system.text import plural

NOVELTY_WORDS: Mapping[str, str] = {name: words.measured for name, words in NAMED_NOVELTIES.items()}
"""The part of a question that was measured, by its novelty."""
_OURS = "ours"


def error_words(error: float) -> str:
    """A relative error with its sign, e.g. `4.1 %` and `92 %`."""
    return f"{percent_text(error)} %"


def source_words(examples: Mapping[str, int]) -> str:
    """The results that a predictor rests on, by whom: `35 results of ours and 11,200 of timm`."""
    ours = sum(count for source, count in examples.items() if source in OWN_SOURCES)
    theirs = {name: count for name, count in examples.items() if name not in OWN_SOURCES and count}
    parts = [(ours, _OURS)] if ours or not theirs else []
    parts += [(count, name) for name, count in sorted(theirs.items(), key=lambda one: -one[1])]
    first, *others = (f"{count:,} {{}}of {name}" for count, name in parts)
    noun = f"{plural(parts[0][0], 'result')} "
    words = [first.format(noun), *(other.format("") for other in others)]
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def added_words(added: int, command: str) -> Iterator[str]:
    """The sentence about results that came since a predictor was trained."""
    if added:
        came = f"{added:,} {plural(added, 'result')} came since it was trained"
        yield f"{came}: `{command}` learns from {'it' if added == 1 else 'them'}"


def training_words(manifest: PredictorManifest, command: str) -> str:
    """The command that trains a predictor on the same sources again."""
    sources: Sources = manifest.sources
    return f"{command} --source all" if sources == "all" else command
