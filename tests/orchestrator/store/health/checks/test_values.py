"""Every number of a result has a rule, so that a new column cannot be forgotten."""

from collections import Counter

from orchestrator.store.health.checks import CHECKS
from orchestrator.store.health.checks.values import RULES
from orchestrator.store.schema.tables import RESULTS

FREE = {"seed"}
"""Numbers that may be any."""


def test_every_number_has_a_rule() -> None:
    numbers = {each.name for each in RESULTS.columns if each.type in ("BIGINT", "DOUBLE")}
    assert RULES.keys() | FREE == numbers
    assert not RULES.keys() & FREE


def test_rules_name_the_column_that_they_are_of() -> None:
    assert all(
        f"r.{column} " in f"{rule} " or f"(r.{column})" in rule for column, rule in RULES.items()
    )


def test_checks_have_names_of_their_own_and_say_what_to_do() -> None:
    assert Counter(check.name for check in CHECKS).most_common(1)[0][1] == 1
    assert all(check.remedy for check in CHECKS)
