"""Words that a shell completes: names of models, runs, results, snapshots and views.

They are read from names of files, without opening any, as a user waits for each of them.
"""

import json
from pathlib import Path

import runner

_MODELS = Path(runner.__file__).parent / "contract" / "models"
_NEWEST = 50
"""Runs that are offered; more than that nobody looks through."""


def model_names() -> list[str]:
    """The models of the catalogue, and behind them the sets."""
    return sorted(path.stem for path in (_MODELS / "configs").glob("*.json")) + set_names()


def set_names() -> list[str]:
    """The sets of models."""
    return list(json.loads((_MODELS / "sets.json").read_bytes()))


def run_ids(results: Path) -> list[str]:
    """`last`, and the runs in this folder, the newest first."""
    runs = sorted((path.parent.name for path in results.glob("[!.]*/run.json")), reverse=True)
    return ["last", *runs[:_NEWEST]] if runs else []


def result_ids(results: Path, run: str) -> list[str]:
    """The results of a run, `<run>/<cell id>`, whose records still lie in files of their own."""
    known = run_ids(results)
    folder = known[1] if run == "last" and known else run
    paths = (results / folder).glob("records/*/*.parquet")
    return sorted(f"{run}/{path.stem}" for path in paths)


def snapshot_names(results: Path) -> list[str]:
    """`last`, and the folders of snapshots, the newest first."""
    folders = (path.name for path in (results / "snapshots").glob("[!.]*/"))
    names = sorted(folders, reverse=True)
    return ["last", *names] if names else []


def view_names() -> list[str]:
    """The views and tables of the database."""
    from orchestrator.store.query.relations import RELATIONS

    return [relation.name for relation in RELATIONS]
