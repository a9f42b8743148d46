"""Answers of one run's results: the fastest, changes, and how far they can be trusted."""
