"""Understands results: pure functions over values, without files, databases or terminals."""
