"""docs/words.md: the words that `orchestrator explain` explains."""

from orchestrator.screen.dictionary import WORDS

_HEAD = """\
# Words

Words on the screen, as `orchestrator explain WORD` explains them.
[What a number means](numbers.md) has the formulas.
<!-- made from orchestrator/screen/words.toml: run `make schemas` -->
"""


def words_markdown() -> str:
    """The whole page."""
    parts = [_HEAD]
    for word in WORDS:
        others = (
            f" Also: {', '.join(f'`{other}`' for other in word.others)}." if word.others else ""
        )
        parts.append(f"## {word.name}\n\n" + "\n".join(word.lines) + others + "\n")
    return "\n".join(parts)
