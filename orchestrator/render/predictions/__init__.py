"""Looks of predictions."""
