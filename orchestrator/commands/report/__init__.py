"""`report`: results as pages, Markdown and JSON."""
