"""A cluster of Slurm in containers: one for its controller, one for each host."""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.models.containers import Container
from docker.models.networks import Network

from orchestrator.fleet.hosts_file import HostEntry
from orchestrator.fleet.transports.commands import CommandTransport
from orchestrator.system.engine import connect_engine
from tests.conftest import ROOT
from tests.support.fleet import soon

PARTITION, NODE = "lab", "a"
_DOCKERFILE = """
FROM python:3.11-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends \\
    slurmctld slurmd slurm-client munge && rm -rf /var/lib/apt/lists/*
"""
_COMPILER = """
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
"""
_CONFIGURATION = """
ClusterName=fleet
SlurmctldHost={controller}
AuthType=auth/munge
SlurmUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SlurmdTimeout=15
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
PartitionName=lab Nodes=ALL Default=YES State=UP
"""
_NODE = "NodeName={node} NodeHostname={host} NodeAddr={host} CPUs=2 RealMemory=1000\n"
_START = """
set -e
cp {keys}/munge.key /etc/munge/munge.key
chown -R munge: /etc/munge && chmod 400 /etc/munge/munge.key
mkdir -p /run/munge /var/spool/slurmctld /var/spool/slurmd && chown munge: /run/munge
runuser -u munge -- munged
cp {keys}/slurm.conf /etc/slurm/slurm.conf
exec {daemon}
"""


@dataclass(frozen=True)
class Slurm:
    """A cluster whose hosts are idle."""

    controller: Container
    host: Container
    """The first of its hosts."""
    network: Network

    def entry(self, program: Path, **changes: Any) -> HostEntry:
        """The host, with that program in the place of its Python."""
        known = {"name": NODE, "partition": PARTITION, "node": NODE, "python": str(program)}
        return HostEntry.model_validate(known | changes)

    def transport(self, program: Path, **changes: Any) -> CommandTransport:
        return CommandTransport("slurm", [self.entry(program, **changes)])

    @contextmanager
    def cut_off(self) -> Iterator[None]:
        """Cut the host off the network; in the end it is idle again."""
        self.network.disconnect(self.host)
        try:
            yield
        finally:
            self.network.connect(self.host)
            assert soon(self.answers)

    def answers(self) -> bool:
        """True if all hosts are idle."""
        code, output = self.controller.exec_run(["sinfo", "--noheader", "--format=%T"])
        return code == 0 and output.decode().strip() == "idle"


@contextmanager
def running_slurm(
    folder: Path, files: Path, nodes: Sequence[str] = (NODE,), *, compiles: bool = False
) -> Iterator[Slurm]:
    """A cluster that sees this repository and these files; `srun` is a program of `folder`.

    Args:
        folder: takes the cluster's key and configuration, and `srun`.
        files: the folder of tests' files.
        nodes: the names of its hosts.
        compiles: True if they have a compiler, which torch_compile needs.
    """
    token = secrets.token_hex(4)
    controller_name = f"controller-{token}"
    hosts = {node: f"host-{node}-{token}" for node in nodes}
    (folder / "munge.key").write_bytes(secrets.token_bytes(64))
    parts = (_NODE.format(node=node, host=host) for node, host in hosts.items())
    head, _, partition = _CONFIGURATION.format(controller=controller_name).rpartition("Partition")
    (folder / "slurm.conf").write_text(f"{head}{''.join(parts)}Partition{partition}")
    image = _image(_DOCKERFILE + (_COMPILER if compiles else ""))
    seen = {ROOT, files, folder, Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()}
    mounts = {str(path): {"bind": str(path), "mode": "rw"} for path in seen}
    with ExitStack() as stack:
        client = connect_engine()
        stack.callback(client.close)
        network = client.networks.create(f"accelmatrix-{token}")
        stack.callback(network.remove)

        def start(name: str, daemon: str) -> Container:
            container = client.containers.run(
                image,
                ["sh", "-c", _START.format(keys=folder, daemon=daemon)],
                name=name,
                hostname=name,
                network=network.name,
                volumes=mounts,
                detach=True,
                init=True,
            )
            stack.callback(container.remove, force=True, v=True)
            return container

        controller = start(controller_name, "slurmctld -D")
        daemons = [start(host, f"slurmd -D -N {node}") for node, host in hosts.items()]
        slurm = Slurm(controller, daemons[0], network)
        assert soon(slurm.answers), controller.logs() + daemons[0].logs()
        srun = folder / "srun"
        srun.write_text(f'#!/bin/sh\nexec docker exec -i {controller.id} srun "$@"\n')
        srun.chmod(0o755)
        yield slurm


def _image(dockerfile: str) -> str:
    """The image of Debian's packages, made if need be; its name is its id."""
    command = ["docker", "build", "--quiet", "--network", "host", "-"]
    built = subprocess.run(
        command, input=dockerfile.encode(), stdout=subprocess.PIPE, check=True, env=dict(os.environ)
    )
    return built.stdout.decode().split()[-1]
