"""`fleet execute`: the program that transports start on a host."""

import os
import sys
from dataclasses import dataclass

from orchestrator.commands.program.command import Command


@dataclass(frozen=True, kw_only=True)
class ExecuteCommand(Command):
    """Execute a driver's orders, from stdin; ssh, Slurm and Ray start this on a host."""

    def execute(self) -> int:
        """Serve the driver."""
        # Unbuffered: Python aborts at its end while a thread waits with the lock of a buffer.
        from orchestrator.commands.fleet.host_program import serve_driver

        with (
            os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0) as stream,
            os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out,
        ):
            os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever prints, prints there
            return serve_driver(stream, out)
