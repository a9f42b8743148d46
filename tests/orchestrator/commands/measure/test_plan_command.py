import json

from tests.support.command_line import complains, files
from tests.support.workplace import Workplace


def test_a_plan_is_the_same_in_every_format_and_writes_nothing(place: Workplace) -> None:
    before = files(place.folder)
    cells = json.loads(place.do("plan", "matrix.yaml", "--format", "json").stdout)["cells"]
    table = place.do("plan", "matrix.yaml").stdout.splitlines()
    assert len(cells) == 3
    assert [cell["cell_id"] for cell in cells] == [line.split()[0] for line in table[1:4]]
    done = place.do("plan", "matrix.yaml", "--format", "github")
    assert done.stdout.count("\n") == 1
    (entry,) = json.loads(done.stdout)["include"]
    assert (entry["cells"], entry["runs-on"][0]) == (3, "self-hosted")
    assert files(place.folder) == before


def test_runners_of_ones_own_have_their_labels(place: Workplace) -> None:
    named = ("--runs-on", "fake=self-hosted,bench1", "--max-jobs", "1")
    (entry,) = json.loads(place.do("plan", "matrix.yaml", "--format=github", *named).stdout)[
        "include"
    ]
    assert entry["runs-on"] == ["self-hosted", "bench1"]
    assert "tags:" in place.do("plan", "matrix.yaml", "--format=gitlab", *named).stdout
    complains(place.do("plan", "matrix.yaml", *named), 2, "cannot be combined with --format table")


def test_what_this_machine_cannot_hold_is_foreseen_here_and_not_for_others(
    place: Workplace,
) -> None:
    axes = {"model": "gpt2", "batch_size": 1_000_000, "sequence_length": 1024}
    (place.folder / "large.json").write_text(json.dumps({"version": 1, "axes": axes}))
    (cell,) = json.loads(place.do("plan", "large.json", "--format=json").stdout)["cells"]
    assert (cell["decision"], cell["status"]) == ("skip", "out_of_memory")
    elsewhere = place.do("plan", "large.json", "--format=github").stdout
    assert [entry["cells"] for entry in json.loads(elsewhere)["include"]] == [1]


def test_a_plan_shows_what_a_run_has_done(measured: Workplace) -> None:
    done = measured.do("plan", "matrix.yaml", "--resume", "last", "--format", "json")
    cells = json.loads(done.stdout)["cells"]
    assert {cell["decision"] for cell in cells} == {"done"}
    assert sorted(cell["status"] for cell in cells) == ["failed", "ok", "ok"]


def test_schemas_are_json_and_take_no_other_option(place: Workplace) -> None:
    assert json.loads(place.do("plan", "--schema").stdout)["properties"]["axes"]
    assert json.loads(place.do("plan", "--hosts-schema").stdout)["properties"]["hosts"]
    for words in (["matrix.yaml", "--schema"], ["--hosts-schema", "--limit", "1"]):
        complains(place.do("plan", *words), 2, "cannot be combined with --")
