"""Transports: ways to hosts, each behind the same protocol."""
