"""Artifacts: what is built once by a job of the backend cpu, and kept for all runs."""
