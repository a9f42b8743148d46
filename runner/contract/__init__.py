"""The data that crosses the border between host and runner, and the rules that both apply to it."""
