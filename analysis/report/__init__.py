"""Reports: what a database or a run shows, as sections of sentences, tables and charts."""
