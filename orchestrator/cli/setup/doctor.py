"""`doctor`: what this machine can run."""

from orchestrator.cli import options


def doctor(json: options.Json = False) -> None:
    """Tell for each backend whether it can run here, by which launcher, and what to do if not."""
    import json as json_text
    from dataclasses import asdict

    from orchestrator.app.setup.doctor import MEANING, examine
    from orchestrator.render.tables import print_line, print_table

    findings = examine()
    if json:
        print_line(json_text.dumps([asdict(finding) for finding in findings], indent=2))
        return
    rows = [
        (
            finding.backend,
            finding.launcher,
            "yes" if finding.runs else "no",
            finding.support_class,
            finding.reason,
            finding.remedy,
        )
        for finding in findings
    ]
    print_table(("backend", "launcher", "runs", "class", "why", "what to do"), rows)
    print_line()
    meanings = " · ".join(f"{number} {meaning}" for number, meaning in MEANING.items())
    print_line(f"support class: {meanings} · – not built yet")
