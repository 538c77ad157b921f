"""The role that writes benchmark queries: templates filled from a passage or a list of requirements.

Asked for a ``query``, ``question`` or ``instruction``, it fills one of a few patterns (``data/queries.toml``), so that
a benchmark can be built and tried without a model. Its queries are correct and dull: no language model wrote them.
"""

from __future__ import annotations

import json
from typing import Any, Final

from ...text.tables import table
from ...text.terms import neutralise, sentences
from .decisions import Manner
from .request import Ask

__all__ = ["is_query_writing", "write_query"]

_DATA: Final = table(__package__, "queries")
_BY_INPUT: Final = {
    "concept": "query",
    "requirements": "query",
    "article": "question",
    "articles": "instruction",
}


def is_query_writing(ask: Ask) -> bool:
    """Say whether a request is for a benchmark query."""
    named = {field.name for field in ask.outputs}
    return any(given in ask.values and wanted in named for given, wanted in _BY_INPUT.items())


def write_query(ask: Ask, manner: Manner) -> dict[str, Any]:
    """Return the values of the request's output fields."""
    given = ask.values
    said = _DATA["chinese" if given.get("language", "").startswith("Chinese") else "english"]
    if "articles" in given:
        found = {"instruction": manner.rng.choice(said[given.get("kind", "summary")])}
    elif "article" in given:
        found = _evaluation(given["article"], said, manner)
    elif "requirements" in given:
        found = {"query": _creative(given, said)}
    else:
        found = {"query": _fact(given, said, manner)}
    return {field.name: neutralise(found.get(field.name, "")) for field in ask.outputs}


def _evaluation(article: str, said: dict[str, Any], manner: Manner) -> dict[str, str]:
    told = [one.strip() for one in sentences(article)]
    return {
        "question": manner.rng.choice(said["questions"]),
        "response": told[0] if told else article.strip(),
    }


def _creative(given: dict[str, str], said: dict[str, Any]) -> str:
    try:
        wanted = [str(one) for one in json.loads(given["requirements"])]
    except ValueError:
        wanted = [line.strip(" -") for line in given["requirements"].splitlines() if line.strip(" -")]
    form = said["forms"].get(given.get("form", ""), given.get("form", ""))
    parts = [said["creative"].format(form=form)]
    if wanted:
        parts += [said["demand"], said["join"].join(wanted)]
    return "".join([*parts, said["stop"]])


def _fact(given: dict[str, str], said: dict[str, Any], manner: Manner) -> str:
    """Return a query about a concept: command, number and subject are three conditions, the others are added."""
    number = int(given["conditions"]) if given.get("conditions", "").strip().isdigit() else 3
    extra = manner.rng.sample(said["extras"], max(0, min(len(said["extras"]), number - 3)))
    concept = given.get("concept") or given.get("topic") or said["thing"]
    head: str = said["fact"].format(concept=concept.strip())
    return head + "".join(f"{said['add']}{one}" for one in extra) + str(said["stop"])
