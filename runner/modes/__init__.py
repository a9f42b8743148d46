"""Modes and scenarios: how each one measures a cell over a backend's session."""
