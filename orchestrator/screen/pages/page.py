"""A page: one HTML file with its style, scripts and data, that asks for nothing from elsewhere."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from analysis.charts.chart import BACKEND_MARKS
from orchestrator.screen.pages.markup import Markup, element, json_for_script, markup


@dataclass(frozen=True)
class Page:
    """The content of a page."""

    title: str
    lead: Sequence[Markup]
    """Elements below the title, before everything else."""
    sections: Sequence["PageSection"]
    foot: str
    """The line at its end: by whom it was made, of what and when."""
    data: Mapping[str, object] = field(default_factory=dict)
    """Data for the script: `details` and the `columns` they are of, `charts` by name."""
    scripts: Sequence[str] = ()
    """Scripts that the page's own one needs."""

    def html(self) -> str:
        """The whole file."""
        style, scripts = _style(), [*self.scripts, _resource("page.js")]
        head = element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", http_equiv="Content-Security-Policy", content=_policy(style, scripts)),
            element("meta", name="referrer", content="no-referrer"),
            element("meta", name="generator", content="AccelMatrix"),
            element("title", f"{self.title} · AccelMatrix"),
            element("style", Markup(style)),
        )
        data = element(
            "script", json_for_script(dict(self.data)), type="application/json", id="data"
        )
        code = [element("script", Markup(script)) for script in scripts]
        body = element("body", _skip_link(), self._header(), self._main(), self._footer())
        opened = body.removesuffix("</body>")
        return (
            f'<!doctype html>\n<html lang="en">{head}{opened}{data}{markup(code)}</body></html>\n'
        )

    def _header(self) -> Markup:
        links = [
            element("a", section.title, href=f"#{section.name}")
            for section in self.sections
            if section.title
        ]
        contents = element("nav", links, aria_label="Contents") if len(links) > 1 else None
        return element("header", element("h1", self.title), self.lead, contents)

    def _main(self) -> Markup:
        return element("main", [section.html() for section in self.sections], id="main")

    def _footer(self) -> Markup:
        return element("footer", element("p", self.foot))


@dataclass(frozen=True)
class PageSection:
    """A part of a page with a heading of its own."""

    name: str
    """The fragment that links to it."""
    title: str
    """Its heading; empty if it needs none."""
    content: Sequence[Markup]

    def html(self) -> Markup:
        """The section as an element."""
        if not self.title:
            return element("section", self.content)
        heading = f"{self.name}-heading"
        title = element("h2", self.title, id=heading)
        return element("section", title, self.content, id=self.name, aria_labelledby=heading)


def _skip_link() -> Markup:
    return element("a", "Skip to the results", href="#main", class_="skip")


def _policy(style: str, scripts: Sequence[str]) -> str:
    """The rules that allow this style and these scripts, and nothing else."""
    hashes = " ".join(map(_hash, scripts))
    return (
        f"default-src 'none'; script-src {hashes}; style-src {_hash(style)}; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


@cache
def _style() -> str:
    """The style sheet, with a variable for the colour of each backend."""
    light = "".join(f"--{name}:{mark.light};" for name, mark in BACKEND_MARKS.items())
    dark = "".join(f"--{name}:{mark.dark};" for name, mark in BACKEND_MARKS.items())
    colours = f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return f"{colours}\n{_resource('page.css')}"


@cache
def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
