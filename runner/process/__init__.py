"""The process of a job: progress on its stdout, and its end when the parent's pipe closes."""
