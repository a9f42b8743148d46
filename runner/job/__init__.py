"""Execution of one job, from its JSON file to its records, references or graphs."""
