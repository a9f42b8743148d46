"""The database file: opened, locked, brought forward and copied."""
