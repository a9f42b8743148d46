"""Known steps, and the search for what brought the others."""
