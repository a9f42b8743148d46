"""The job's process: its streams and its parent."""
