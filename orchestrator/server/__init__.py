"""Pages that are served on this machine or to one's own devices."""
