"""The startup mode: fresh processes from launch to first result."""
