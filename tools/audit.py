"""Ask a database of advisories for known vulnerabilities of all pins: `python -m tools.audit`.

Exit status: 0 nothing is known, 1 something is, 69 nothing was checked, since no database answers.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.pins.files import ROOT, hash_files, locked, unhashed

UNAVAILABLE = 69
"""`EX_UNAVAILABLE` of sysexits.h."""

Versions = Mapping[str, str]
"""Versions by package."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Audit every pin of the checkout."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--service", choices=("pypi", "osv"), default="pypi")
    parser.add_argument("--python", default=sys.executable, help="a Python that has pip-audit")
    options = parser.parse_args(arguments)
    known = checked = 0
    pins = rounds()
    # One pin goes first: where no database answers, a hundred more need not be asked for.
    for versions in [dict([next(iter(pins[0].items()))]), *pins]:
        answer = _ask(options.python, options.service, versions)
        if isinstance(answer, str):
            sys.stderr.write(
                f"audit: NOTHING WAS CHECKED: the advisories of {options.service} cannot be had:\n"
                f"{answer}\n"
            )
            return UNAVAILABLE
        if versions in pins:
            lines = list(findings(answer))
            sys.stdout.writelines(f"{line}\n" for line in lines)
            known += len(lines)
            checked += len(versions)
    sys.stdout.write(f"audit: {checked} pins asked for, {known} findings ({options.service})\n")
    return 1 if known else 0


def rounds(root: Path = ROOT) -> list[dict[str, str]]:
    """Every pin of every list; of a package with two versions the second is in another round.

    A build without a published hash counts as the version that it is a build of.
    """
    result: list[dict[str, str]] = [{}]
    for name, version in sorted(set(_pins(root))):
        for versions in result:
            if name not in versions:
                versions[name] = version
                break
        else:
            result.append({name: version})
    return result


def _pins(root: Path) -> Iterator[tuple[str, str]]:
    for file in hash_files(root):
        text = (root / file.path).read_text("utf-8")
        for pin in [*locked(text).values(), *map(Requirement, unhashed(text))]:
            (specifier,) = pin.specifier
            yield canonicalize_name(pin.name), specifier.version.partition("+")[0]


def _ask(python: str, service: str, versions: Versions) -> Any | str:
    """The answer of pip-audit, or its complaint if it has none."""
    with tempfile.TemporaryDirectory() as folder:
        pins = Path(folder) / "pins.txt"
        pins.write_text("".join(f"{name}=={version}\n" for name, version in versions.items()))
        command = [python, "-m", "pip_audit", "--requirement", str(pins), "--no-deps"]
        command += ["--disable-pip", "--vulnerability-service", service]
        command += ["--format", "json", "--progress-spinner", "off"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return done.stderr.strip()[-2000:] or f"pip-audit ended with {done.returncode}, silently"
    unasked = [item["name"] for item in answer["dependencies"] if "skip_reason" in item]
    if len(unasked) == len(answer["dependencies"]):
        return f"it knows none of the {len(unasked)} packages"
    return answer


def findings(answer: Any) -> Iterator[str]:
    """One line for each vulnerability, and one for each package that could not be looked up."""
    for package in answer["dependencies"]:
        for entry in package.get("vulns", ()):
            fixed = ", ".join(entry["fix_versions"]) or "no version yet"
            names = ", ".join([entry["id"], *entry.get("aliases", ())])
            yield f"{package['name']}=={package['version']}: {names}; fixed in {fixed}"
        if reason := package.get("skip_reason"):
            yield f"{package['name']}: not checked: {reason}"


if __name__ == "__main__":
    sys.exit(main())
