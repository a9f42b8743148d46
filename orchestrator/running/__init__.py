"""A run under way: its folder, its jobs, their artifacts, its merge."""
