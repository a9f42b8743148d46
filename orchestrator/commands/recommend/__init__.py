"""Recommendations of hardware and settings, and of what to measure next."""
