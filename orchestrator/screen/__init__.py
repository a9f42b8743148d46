"""Answers as people and programs get them: words, lines, tables, sheets, pages, and streams."""
