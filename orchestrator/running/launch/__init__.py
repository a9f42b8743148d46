"""One launch of a job: what it says, and the limits that it is held to."""
