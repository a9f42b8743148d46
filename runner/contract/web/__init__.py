"""Browsers as jobs name them, and the pages that execute graphs."""
