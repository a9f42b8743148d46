"""This computer: files, locks, git, the container engine, text."""
