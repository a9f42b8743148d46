"""Answers as people and programs get them: lines, tables, sheets, pages, and lossy streams."""
