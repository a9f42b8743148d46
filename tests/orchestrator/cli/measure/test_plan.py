import json

from tests.support.command_line import complains, files
from tests.support.workplace import Workplace


def test_a_plan_as_json_and_as_a_table_are_the_same_cells(place: Workplace) -> None:
    cells = json.loads(place.do("plan", "matrix.yaml", "--format", "json").stdout)["cells"]
    table = place.do("plan", "matrix.yaml").stdout
    assert len(cells) == 3
    assert [cell["cell_id"] for cell in cells] == [
        line.split()[0] for line in table.splitlines()[1:4]
    ]


def test_a_plan_for_github_is_one_line_that_fromjson_takes(place: Workplace) -> None:
    done = place.do("plan", "matrix.yaml", "--format", "github")
    assert done.stdout.count("\n") == 1
    (entry,) = json.loads(done.stdout)["include"]
    assert entry["cells"] == 3
    assert entry["runs-on"][0] == "self-hosted"


def test_what_this_machine_cannot_hold_is_foreseen_here_and_not_for_others(
    place: Workplace,
) -> None:
    axes = {"model": "gpt2", "batch_size": 1_000_000, "sequence_length": 1024}
    (place.folder / "large.json").write_text(json.dumps({"version": 1, "axes": axes}))
    (cell,) = json.loads(place.do("plan", "large.json", "--format=json").stdout)["cells"]
    assert (cell["decision"], cell["status"]) == ("skip", "out_of_memory")
    elsewhere = place.do("plan", "large.json", "--format=github").stdout
    assert [entry["cells"] for entry in json.loads(elsewhere)["include"]] == [1]


def test_a_plan_writes_nothing(place: Workplace) -> None:
    before = files(place.folder)
    for form in ("table", "json", "github"):
        assert place.do("plan", "matrix.yaml", "--format", form).returncode == 0
    assert files(place.folder) == before


def test_a_plan_shows_what_a_run_has_done(measured: Workplace) -> None:
    done = measured.do("plan", "matrix.yaml", "--resume", "last", "--format", "json")
    cells = json.loads(done.stdout)["cells"]
    assert {cell["decision"] for cell in cells} == {"done"}
    assert sorted(cell["status"] for cell in cells) == ["failed", "ok", "ok"]


def test_the_schema_is_json(place: Workplace) -> None:
    assert json.loads(place.do("schema").stdout)["properties"]["axes"]


def test_models_are_listed_and_shown(place: Workplace) -> None:
    listed = json.loads(place.do("models", "list", "--json").stdout)
    assert "bert-tiny" in [model["name"] for model in listed]
    table = place.do("models", "list", "--family", listed[0]["family"]).stdout
    assert listed[0]["name"] in table
    shown = json.loads(place.do("models", "show", "bert-tiny", "--json").stdout)
    assert shown["name"] == "bert-tiny"
    assert "vocab_size" in place.do("models", "show", "bert-tiny").stdout
    complains(place.do("models", "show", "bert-tinny"), 2, "did you mean bert-tiny")
