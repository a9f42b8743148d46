"""Answers to what to choose and what to measure, from measurements and predictions."""
