"""Tables, progress and JSON on a terminal or in a pipe."""
