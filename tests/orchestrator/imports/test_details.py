"""What no column takes is kept as text under its own name."""

from orchestrator.imports.details import flatten


def test_tables_become_dotted_names_and_plain_lists_stay_whole() -> None:
    value = {
        "backend": {"name": "pytorch", "no_weights": False, "seed": 42},
        "gpu": ["NVIDIA A100", "NVIDIA A100"],
        "runs": [{"ms": 1.5}, {"ms": 2}],
    }
    assert flatten(value, "config") == {
        "config.backend.name": "pytorch",
        "config.backend.no_weights": "false",
        "config.backend.seed": "42",
        "config.gpu": '["NVIDIA A100", "NVIDIA A100"]',
        "config.runs[0].ms": "1.5",
        "config.runs[1].ms": "2",
    }


def test_what_says_nothing_is_left_out() -> None:
    assert flatten({"a": None, "b": {}, "c": [], "d": "", "e": float("nan")}) == {}


def test_a_plain_value_keeps_its_name() -> None:
    assert flatten("nhwc", "layout") == {"layout": "nhwc"}
