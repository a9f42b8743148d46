"""`browser`: a page that measures on one's own device."""
