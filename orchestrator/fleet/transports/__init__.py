"""Transports: the ways to hosts."""
