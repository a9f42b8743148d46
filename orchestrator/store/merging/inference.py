"""Runs that nobody described, inferred from their records."""

from orchestrator.store.schema.tables import ENVIRONMENTS, RESULTS, RUNS

_INFERRED = {
    "run_id": "run_id",
    "started_at": "min(recorded_at)",
    "finished_at": "max(recorded_at)",
    "launchers": "list_sort(list(DISTINCT launcher))",
    "seed": "min(seed)",
    "git_commit": "arg_max(git_commit, (recorded_at, result_id))",
    "orchestrator_version": "arg_max(orchestrator_version, (recorded_at, result_id))",
    "hostname": "arg_max(hostname, (recorded_at, result_id))",
    "described": "false",
}


def infer_runs(which: str) -> str:
    """The statement that infers the runs whose `run_id` fulfils a condition."""
    return f"""
        INSERT OR REPLACE INTO {RUNS.name} ({", ".join(_INFERRED)})
        SELECT {", ".join(_INFERRED.values())}
        FROM {RESULTS.name} LEFT JOIN {ENVIRONMENTS.name} USING (environment_id)
        WHERE {which} GROUP BY run_id
    """
