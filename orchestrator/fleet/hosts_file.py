"""`hosts.yaml`: the hosts that ssh or Slurm reach."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, ValidationError, model_validator

from orchestrator.matrix.values import BytesValue, SizeValue
from orchestrator.system.docstrings import describe_properties
from orchestrator.system.problems import Problem, problems_in, raise_problems, read_source
from runner.contract.cell import Frozen

_STRICT = ConfigDict(frozen=True, extra="forbid", strict=True)
_HINT = "`orchestrator plan --hosts-schema` describes every key of such a file"


def _no_option(value: str) -> str:
    if value.startswith("-"):
        raise ValueError(f"{value!r} begins like an option")
    return value


CommandWord = Annotated[
    str, Field(min_length=1, max_length=200, pattern=r"^\S+$"), AfterValidator(_no_option)
]
"""Text that is given to ssh or Slurm as one word."""
_OF_SSH = ("port", "identity", "known_hosts")
_OF_SLURM = ("node", "limits")
HostName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]


class HostLimits(Frozen):
    """The part of a machine that Slurm gives to an order."""

    model_config = _STRICT

    cpus: SizeValue | None = None
    """CPUs; the partition's default if not named."""
    memory: BytesValue | None = None
    """Memory; the partition's default if not named."""


class HostEntry(Frozen):
    """One host. It has an address for ssh, or a partition of Slurm."""

    model_config = _STRICT

    name: HostName
    """Its name in the fleet."""
    address: CommandWord | None = None
    """The address for ssh: HOST or USER@HOST, as in ssh's own configuration."""
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    """The port of its sshd; that of ssh's configuration if not named."""
    identity: CommandWord | None = None
    """The file with the private key; those of ssh's configuration if not named."""
    known_hosts: CommandWord | None = None
    """The file with the host's public key; that of ssh's configuration if not named."""
    partition: CommandWord | None = None
    """Slurm's partition that it belongs to."""
    node: CommandWord | None = None
    """Slurm's name of it; any node of the partition if not named."""
    python: CommandWord = "python3"
    """Python on the host, of the environment in which accelmatrix is installed."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Words about it that `fleet status` shows."""
    limits: HostLimits = Field(default_factory=HostLimits)
    """The part of the machine that Slurm gives to an order."""

    @model_validator(mode="after")
    def _one_way(self) -> "HostEntry":
        if (self.address is None) == (self.partition is None):
            raise ValueError("has either an address (for ssh) or a partition (of Slurm)")
        own, foreign = ("an address", _OF_SLURM) if self.address else ("a partition", _OF_SSH)
        if given := [name for name in foreign if name in self.model_fields_set]:
            raise ValueError(f"{given[0]} means nothing for a host with {own}")
        return self

    @property
    def transport(self) -> Literal["ssh", "slurm"]:
        return "slurm" if self.address is None else "ssh"


class HostsDocument(Frozen):
    """The hosts that ssh or Slurm reach."""

    model_config = _STRICT

    version: Literal[1]
    """Version of this file's format."""
    hosts: Annotated[list[HostEntry], Field(min_length=1)]
    """The hosts, each with a name of its own."""


def read_hosts_file(path: Path) -> tuple[HostEntry, ...]:
    source = read_source(path)
    try:
        document = HostsDocument.model_validate(source.data)
    except ValidationError as error:
        raise_problems(source, problems_in(error, _keys_at), _HINT)
        raise
    names = [entry.name for entry in document.hosts]
    twice = [
        Problem(("hosts", number, "name"), f"{name!r} is the name of another host as well")
        for number, name in enumerate(names)
        if name in names[:number]
    ]
    raise_problems(source, twice, _HINT)
    return tuple(document.hosts)


def _keys_at(path: tuple[str | int, ...]) -> list[str]:
    table = HostsDocument
    if "limits" in path:
        return list(HostLimits.model_fields)
    return list(HostEntry.model_fields if path else table.model_fields)


def hosts_json_schema() -> dict[str, Any]:
    """The schema that `docs/hosts.schema.json` holds."""
    schema = HostsDocument.model_json_schema()
    describe_properties(schema, HostsDocument)
    for table in (HostEntry, HostLimits):
        describe_properties(schema["$defs"][table.__name__], table)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
