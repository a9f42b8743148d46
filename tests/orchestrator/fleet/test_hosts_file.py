"""`hosts.yaml`: what it may say, its schema, its errors, the commands that come of it."""

import json
import re
import sys
from pathlib import Path
from threading import Thread

import jsonschema
import pytest
import yaml

from orchestrator.fleet.hosts_file import HostEntry, hosts_json_schema, read_hosts_file
from orchestrator.fleet.messages import Frame
from orchestrator.fleet.transports.commands import PipeConversation, srun_command, ssh_command
from runner.contract.errors import MatrixError
from tests.conftest import ROOT

SCHEMA = hosts_json_schema()
EXAMPLE = ROOT / "docs/examples/hosts.yaml"
PAGE = (ROOT / "docs/fleet.md").read_text("utf-8")


def hosts(folder: Path, *lines: str) -> tuple[HostEntry, ...]:
    path = folder / "hosts.yaml"
    path.write_text("\n".join(("version: 1", "hosts:", *lines)))
    return read_hosts_file(path)


def test_the_schema_is_one_and_describes_every_key() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for table in (SCHEMA, *SCHEMA["$defs"].values()):
        assert table["additionalProperties"] is False
        assert all("description" in key for key in table["properties"].values())


def test_every_example_loads_and_keeps_to_the_schema(tmp_path: Path) -> None:
    texts = re.findall(r"^```yaml\n(version: 1\n\nhosts.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert texts
    for text in (EXAMPLE.read_text("utf-8"), *texts):
        (tmp_path / "hosts.yaml").write_text(text)
        assert read_hosts_file(tmp_path / "hosts.yaml")
        jsonschema.validate(yaml.safe_load(text), SCHEMA)


def test_the_page_names_every_key() -> None:
    keys = HostEntry.model_fields.keys()
    rows = "".join(re.findall(r"^\| `.*$", PAGE, re.MULTILINE))
    assert [key for key in keys if not re.search(rf"`{key}\b", rows)] == []


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("- {name: a, adress: b}", "hosts[0].adress: unknown key; did you mean address?"),
        ("- {name: a}", "hosts[0]: has either an address (for ssh) or a partition (of Slurm)"),
        ("- {name: a, address: b, node: c}", "hosts[0]: node means nothing for a host with an ad"),
        ("- {name: a, address: b, limits: {cpus: 1}}", "hosts[0]: limits means nothing"),
        ("- {name: a, address: b, port: 70000}", "hosts[0].port: 70000 is more than 65535"),
        ("- {name: a, address: -oProxyCommand=x}", "'-oProxyCommand=x' begins like an option"),
        ("- {name: a, address: b, python: 'x y'}", "hosts[0].python: 'x y' does not match"),
        ("- {name: ../a, address: b}", "hosts[0].name: '../a' does not match"),
        ("- {name: a, partition: p, limits: {cpu: 1}}", "hosts[0].limits.cpu: unknown key; did"),
        ("- {name: a, address: b}\n- {name: a, address: c}", "'a' is the name of another host"),
        ("", "hosts: must be a list"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, line: str, fault: str) -> None:
    with pytest.raises(MatrixError) as refused:
        hosts(tmp_path, line)
    assert str(refused.value).startswith(f"{tmp_path / 'hosts.yaml'}: ")
    assert fault in str(refused.value)
    assert re.search(r"\(line [234]\)$", str(refused.value))
    assert (
        refused.value.hint
        == "`orchestrator plan --hosts-schema` describes every key of such a file"
    )


PROGRAM = ["-P", "-m", "orchestrator", "fleet", "execute"]


def test_ssh_is_given_what_the_file_says(tmp_path: Path) -> None:
    (bare, full) = hosts(
        tmp_path,
        "- {name: a, address: a.lab}",
        "- {name: b, address: me@b, port: 2222, identity: k, known_hosts: h, python: /x/python}",
    )
    command = ssh_command(bare)
    assert command[-8:] == ["--", "a.lab", "python3", *PROGRAM]
    assert {"BatchMode=yes", "StrictHostKeyChecking=yes"} < set(command)
    words = " ".join(ssh_command(full))
    assert "-p 2222 -i k -o UserKnownHostsFile=h -- me@b /x/python -P -m" in words


def test_slurm_is_given_what_the_file_says(tmp_path: Path) -> None:
    (bare, full) = hosts(
        tmp_path,
        "- {name: a, partition: lab}",
        "- {name: b, partition: gpu, node: n1, limits: {cpus: 2, memory: 3GiB}}",
    )
    assert srun_command(bare)[-8:] == ["--partition=lab", "--", "python3", *PROGRAM]
    given = {"--partition=gpu", "--nodelist=n1", "--cpus-per-task=2", "--mem=3072M"}
    assert given < set(srun_command(full))


def test_the_published_schema_is_the_one_of_the_code() -> None:
    assert json.loads((ROOT / "docs/hosts.schema.json").read_text("utf-8")) == SCHEMA


FROZEN = (sys.executable, "-c", "import time; time.sleep(600)")


def test_a_frozen_program_is_ended_though_a_frame_waits_for_it() -> None:
    conversation = PipeConversation(FROZEN, patience_s=0.05)
    sending = Thread(target=conversation.send, args=[Frame(b"{}", bytes(1 << 20))], daemon=True)
    sending.start()
    sending.join(0.1)
    assert sending.is_alive()
    ending = Thread(target=conversation.end, daemon=True)
    ending.start()
    ending.join(10)
    sending.join(10)
    assert not ending.is_alive()
    assert not sending.is_alive()
    assert conversation.receive() is None
