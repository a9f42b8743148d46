"""Reports and configs of optimum-benchmark, cut from published ones."""

from typing import Any

from tests.support.data import sample

Tree = dict[str, Any]


def config(
    backend: Tree | None = None, scenario: Tree | None = None, environment: Tree | None = None
) -> Tree:
    config: Tree = sample("optimum-benchmark")["encoder"]["config"]
    changes = {"backend": backend, "scenario": scenario, "environment": environment}
    return config | {name: config[name] | (change or {}) for name, change in changes.items()}


def encoder_report() -> Tree:
    report: Tree = sample("optimum-benchmark")["encoder"]["report"]
    return report


def generation_report() -> Tree:
    report: Tree = sample("optimum-benchmark")["decoder"]["report"]
    return report
