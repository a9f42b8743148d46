"""The pages that people read, taken apart: blocks of code, spans of code, links, headings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from tests.conftest import ROOT

FENCE = re.compile(r"^(?P<fence>```+)(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=fence)$", re.M | re.S)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.M)
ASSIGNMENT = re.compile(r"^([A-Z_]+=\S+ )+")


@dataclass(frozen=True)
class Block:
    """A fenced block of code."""

    language: str
    text: str


@dataclass(frozen=True)
class Page:
    """One Markdown file."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    @property
    def prose(self) -> str:
        return FENCE.sub("", self.text)

    @property
    def links(self) -> list[str]:
        return LINK.findall(self.prose)

    @property
    def spans(self) -> list[str]:
        return SPAN.findall(self.prose)

    @property
    def anchors(self) -> set[str]:
        return {anchor(heading) for heading in HEADING.findall(self.prose)}

    def blocks(self, *languages: str) -> list[Block]:
        """The blocks of these languages; all of them if none is named."""
        found = [Block(m["language"].strip(), m["text"]) for m in FENCE.finditer(self.text)]
        return [block for block in found if not languages or block.language in languages]

    def shell_lines(self) -> Iterator[str]:
        """What the page tells to type, without prompts, continuations and assignments."""
        for block in self.blocks("sh", "console"):
            lines = block.text.replace("\\\n", "").splitlines()
            prompted = [line[2:] for line in lines if line.startswith("$ ")]
            for line in prompted or lines:
                yield ASSIGNMENT.sub("", line.strip())

    def rows(self, *headings: str) -> list[list[str]]:
        """The cells of all tables whose first columns have these headings."""
        _, *tables = self.prose.split(f"\n| {' | '.join(headings)} |")
        lines = [line for table in tables for line in takewhile(_is_row, table.splitlines()[2:])]
        return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def _is_row(line: str) -> bool:
    return line.startswith("|")


def anchor(heading: str) -> str:
    """The fragment that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


README = Page(ROOT / "README.md")
COMMANDS, MODELS, MODES, NUMBERS, SUPPORTED, GITHUB = (
    Page(ROOT / "docs" / f"{name}.md")
    for name in ("commands", "models", "modes", "numbers", "supported", "github")
)
PAGES = [
    README,
    Page(ROOT / "CONTRIBUTING.md"),
    Page(ROOT / "CHANGELOG.md"),
    Page(ROOT / "SECURITY.md"),
    *(Page(path) for path in sorted((ROOT / "docs").rglob("*.md"))),
]
