"""Runners that a patch made slower, measured beside the checkout's own."""
