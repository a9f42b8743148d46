"""Ray's command lines and settings, without Ray."""

from pathlib import Path

from orchestrator.fleet.transports.ray_settings import (
    OWNER_VARIABLE,
    NodeRequest,
    head_command,
    host_line,
    join_command,
    node_environment,
    ray_environment,
)

HOST = NodeRequest("mark", Path("/t/token"), "a", {"room": "lab1"})
HEAD = NodeRequest("mark", Path("/t/token"))


def test_a_head_is_quiet_and_a_host_only_with_a_name() -> None:
    command = head_command(HEAD, "192.0.2.7", 6479, Path("/t/ray"))
    assert {"--head", "--node-ip-address=192.0.2.7", "--port=6479"} <= set(command)
    assert {"--include-dashboard=false", "--include-log-monitor=false"} <= set(command)
    assert {"--resources={}", "--labels=accelmatrix-head=true"} <= set(command)
    named = head_command(HOST, "192.0.2.7", 6479, Path("/t/ray"))
    assert '--resources={"accelmatrix_host": 1}' in named


def test_a_host_has_a_name_labels_and_one_driver_at_a_time() -> None:
    command = join_command(HOST, "192.0.2.7:6479", Path("/t/ray"))
    assert {"--address=192.0.2.7:6479", "--num-cpus=0", "--num-gpus=0"} <= set(command)
    assert "--labels=room=lab1,accelmatrix-name=a" in command
    assert '--resources={"accelmatrix_host": 1}' in command


def test_everybody_agrees_on_token_and_deaths() -> None:
    node, driver = node_environment(HOST), ray_environment(Path("/t/token"))
    assert node == driver | {OWNER_VARIABLE: "mark"}
    assert driver["RAY_AUTH_MODE"] == "token"
    assert driver["RAY_AUTH_TOKEN_PATH"] == "/t/token"
    assert driver["RAY_health_check_failure_threshold"] == "3"
    assert "RAY_AUTH_MODE" not in ray_environment(None)


def test_no_secret_stands_in_a_command_line() -> None:
    commands = (
        head_command(HOST, "192.0.2.7", 6479, Path("/t/ray")),
        join_command(HOST, "192.0.2.7:6479", Path("/t/ray")),
    )
    assert not any("token" in word or "mark" in word for words in commands for word in words)
    assert host_line("192.0.2.7:6479", Path("/t/token")).endswith("--token-file /t/token")
