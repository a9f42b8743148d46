"""The report of a merge: counts, whose records, into which database, and what to do next."""

from dataclasses import replace
from pathlib import Path

from orchestrator.commands.exchange.merge import print_merged
from orchestrator.store.merge.report import MergeReport
from orchestrator.store.records.validate import Damaged
from tests.orchestrator.conftest import Screen

DATABASE = Path("lab.duckdb")
DAMAGED = (Damaged(Path("a.parquet"), "truncated"),)
MERGED = MergeReport(3, 2, 1, DAMAGED, ("run/cell",), hosts=(("vm", 1), ("lab\x1b[1m", 4)))


def test_a_merge_names_hosts_database_and_the_next_step(screen: Screen) -> None:
    assert screen.lines(print_merged, MERGED, DATABASE) == [
        "3 inserted, 2 replaced, 1 unchanged",
        "4 records from lab\\u001b[1m, 1 record from vm into lab.duckdb",
        "next:",
        "  orchestrator query latest_results --database lab.duckdb",
    ]
    many = replace(MERGED, hosts=tuple((f"host-{n}", 1) for n in range(7)))
    assert "host-4 and 2 more hosts into" in screen.lines(print_merged, many, DATABASE)[1]


def test_a_merge_that_changed_nothing_says_so(screen: Screen) -> None:
    assert screen.lines(print_merged, MergeReport(unchanged=4), DATABASE) == [
        "0 inserted, 0 replaced, 4 unchanged",
        "database: lab.duckdb had all of them",
    ]
    assert screen.lines(print_merged, MergeReport(damaged=DAMAGED), DATABASE) == [
        "0 inserted, 0 replaced, 0 unchanged: nothing was merged into lab.duckdb"
    ]


def test_in_json_all_of_it_is_there(screen: Screen) -> None:
    assert screen.data(print_merged, MERGED, DATABASE) == {
        "inserted": 3,
        "replaced": 2,
        "unchanged": 1,
        "damaged": [{"file": "a.parquet", "reason": "truncated"}],
        "refused": ["run/cell"],
        "contradicted": [],
        "hosts": {"lab\x1b[1m": 4, "vm": 1},
        "database": "lab.duckdb",
    }


def test_hosts_of_several_merges_are_counted_together() -> None:
    total = MergeReport(1, hosts=(("vm", 1),)) + MergeReport(2, hosts=(("vm", 2),))
    assert (total.inserted, sum(count for _, count in total.hosts)) == (3, 3)
