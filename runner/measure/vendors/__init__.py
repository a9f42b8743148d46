"""Vendors' libraries for memory and energy."""
