"""Checks of a database: what each looks for, its severity, remedy and repair."""
