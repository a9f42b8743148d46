"""What records up to schema 4 lack, derived from what they hold: ids, and the model of the job.

The expressions agree with `runner.record`, so that the same software and the same model have one id
whichever runner wrote of them. Databases were brought forward by them: they stay as they are.
"""

from collections.abc import Iterable, Mapping

_FACTS = (
    *("image", "image_digest", "image_labels", "kernel", "libraries", "operating_system"),
    *("orchestrator_version", "python_version", "runner_version"),
)
"""The facts behind `environment_id`, sorted as it hashes them."""
_MAPS = frozenset({"image_labels", "libraries"})
_MODEL = "CASE WHEN json_valid(job) THEN json_extract(job, '$.model')::VARCHAR END"

MODEL: Mapping[str, str] = {
    "model_spec": _MODEL,
    "model_id": f"sha256({_MODEL})[:16]",
    "job": f"""
        CASE WHEN ({_MODEL}) IS NULL THEN job
        ELSE json_merge_patch(job, '{{"model": null}}')::VARCHAR END
    """,
}
"""Expressions over `job`, which held the model as well."""


def environment_id(columns: Iterable[str]) -> str:
    """The expression of the id, over those facts that are among the columns."""
    known = frozenset(columns)
    pairs = (f"""'"{name}": ' || {_json(name) if name in known else "'null'"}""" for name in _FACTS)
    return "sha256('{' || " + " || ', ' || ".join(pairs) + " || '}')[:16]"


def _json(name: str) -> str:
    """A fact as Python writes it in JSON; the keys of a map are sorted."""
    if name not in _MAPS:
        return f"coalesce(to_json({name})::VARCHAR, 'null')"
    pair = "to_json(each.key)::VARCHAR || ': ' || to_json(each.value)::VARCHAR"
    pairs = f"list_transform(list_sort(map_entries({name})), lambda each: {pair})"
    return (
        f"CASE WHEN {name} IS NULL THEN 'null'"
        f" ELSE '{{' || array_to_string({pairs}, ', ') || '}}' END"
    )
