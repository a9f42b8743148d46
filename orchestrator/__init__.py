"""The host: a matrix becomes jobs, jobs become containers, records become a database."""
