"""`merge`, `import` and `export`: results of others, and for others."""
