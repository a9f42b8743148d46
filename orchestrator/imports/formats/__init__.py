"""Formats that are recognised, a file or a family of files each."""
