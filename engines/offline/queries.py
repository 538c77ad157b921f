"""The role that writes benchmark queries: templates filled from a passage or a list of requirements.

Asked for a ``query``, ``question`` or ``instruction``, it fills one of a few patterns (``data/queries.toml``), so that
a benchmark can be built and tried without a model. Its queries are correct and dull: no language model wrote them.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from ...text.tables import table
from ...text.terms import neutralise, sentences
from .decisions import Manner
from .request import Ask

__all__ = ["is_query_writing", "write_query"]

_DATA: Final = table(__package__, "queries")
_Given = Mapping[str, str]


def is_query_writing(ask: Ask) -> bool:
    """Say whether a request is for a benchmark query."""
    named = {field.name for field in ask.outputs}
    return any(given in ask.values and wanted in named for given, (wanted, _) in _WRITERS.items())


def write_query(ask: Ask, manner: Manner) -> dict[str, Any]:
    """Return the values of the request's output fields."""
    given = ask.values
    said = _DATA["chinese" if given.get("language", "").startswith("Chinese") else "english"]
    wanted, write = next(writer for name, writer in _WRITERS.items() if name in given)
    found = {wanted: write(given, said, manner)}
    if "article" in given:
        found["response"] = next(iter(sentences(given["article"])), given["article"]).strip()
    return {field.name: neutralise(found.get(field.name, "")) for field in ask.outputs}


def _analysis(given: _Given, said: dict[str, Any], manner: Manner) -> str:
    return str(manner.rng.choice(said[given.get("kind", "summary")]))


def _evaluation(given: _Given, said: dict[str, Any], manner: Manner) -> str:
    return str(manner.rng.choice(said["questions"]))


def _creative(given: _Given, said: dict[str, Any], manner: Manner) -> str:
    form = said["forms"].get(given.get("form", ""), given.get("form", ""))
    wanted = said["join"].join(json.loads(given["requirements"]))
    return f"{said['creative'].format(form=form)}{said['demand'] if wanted else ''}{wanted}{said['stop']}"


def _fact(given: _Given, said: dict[str, Any], manner: Manner) -> str:
    """Return a query about a concept: command, number and subject are three conditions, the others are added."""
    number = int(given["conditions"])
    extra = manner.rng.sample(said["extras"], max(0, min(len(said["extras"]), number - 3)))
    concept = (given["concept"] or given.get("topic") or said["thing"]).strip()
    return str(said["join"]).join([said["fact"].format(concept=concept), *extra]) + str(said["stop"])


_WRITERS: Final[Mapping[str, tuple[str, Callable[[_Given, dict[str, Any], Manner], str]]]] = {
    "articles": ("instruction", _analysis),
    "article": ("question", _evaluation),
    "requirements": ("query", _creative),
    "concept": ("query", _fact),
}
"""Input -> the output that is written from it, and how."""
