"""A child pipeline of GitLab: its jobs measure the plan's cells and hand their bundles on."""

import shlex

import yaml

from orchestrator.app.pipelines.gitlab import gitlab_pipeline
from orchestrator.app.pipelines.jobs import MAX_JOBS, pipeline_jobs
from orchestrator.planning.plan import make_plan
from tests.docs.command_line import parse
from tests.support.matrices import matrix_of


def test_the_pipeline_measures_on_tagged_runners_and_merges() -> None:
    axes = {"model": ["bert-tiny", "gpt2"], "backend": ["cpu", "mps"]}
    labels = {"cpu": ["bench1"], "mps": ["mac"]}
    jobs = pipeline_jobs(make_plan(matrix_of(axes)), labels, MAX_JOBS)  # type: ignore[arg-type]
    pipeline = yaml.safe_load(gitlab_pipeline(jobs, "my matrix.yaml"))
    assert pipeline.pop("stages") == ["measure", "merge"]
    merge = pipeline.pop("merge")
    assert [*pipeline] == ["cpu-bert-tiny", "cpu-gpt2", "mps-bert-tiny", "mps-gpt2"]
    mac = pipeline["mps-gpt2"]
    assert mac["tags"] == ["mac"]
    assert '"[cpu]"' in mac["script"][-2]
    for job in pipeline.values():
        call = parse(shlex.split(job["script"][-1])[1:])
        assert str(call["matrix"]) == "my matrix.yaml"
        assert call["launcher"] == ("process" if job["tags"] == ["mac"] else "docker")
        assert parse(shlex.split(job["after_script"][-1])[1:])["bundle"]
    assert any("merge" in line for line in merge["script"])
