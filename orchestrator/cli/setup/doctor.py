"""`doctor`: what this machine can run."""

from orchestrator.cli import options


def doctor(json: options.Json = False) -> None:
    """Tell for each backend whether it can run here, by which launcher, and what to do if not."""
    import json as json_text

    from orchestrator.app.setup.doctor import SUPPORT_CLASSES, diagnose
    from orchestrator.render.lines import print_line
    from orchestrator.render.tables import print_table

    diagnoses = diagnose()
    if json:
        print_line(json_text.dumps([row.data() for row in diagnoses], indent=2))
        return
    rows = [
        (
            row.backend,
            row.launcher,
            "yes" if row.runs else "no",
            row.support_class,
            row.reason,
            row.remedy,
        )
        for row in diagnoses
    ]
    print_table(("backend", "launcher", "runs", "class", "why", "what to do"), rows)
    print_line()
    meanings = " · ".join(f"{number} {meaning}" for number, meaning in SUPPORT_CLASSES.items())
    print_line(f"support class: {meanings} · – not built yet")
