"""Predictions of what was not measured, from what was."""
