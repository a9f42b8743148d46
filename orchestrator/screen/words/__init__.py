"""The words of reasons, doubts, hints and remedies: the one place that has them."""
