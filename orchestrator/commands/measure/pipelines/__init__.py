"""A plan as the jobs of a CI pipeline, for GitHub Actions and GitLab."""
