"""Commands, a folder a feature: how a question is asked and said. `main` is the entry point."""
