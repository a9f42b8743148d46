"""The program: its commands, how they read their words, completion and refusals."""
