"""Verdicts on regressions: on a terminal, as Markdown for a pull request, as JSON and as JUnit."""
