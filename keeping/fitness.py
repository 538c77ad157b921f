"""Whether an artifact can be used here: its judge, the types of its fields, its prompt, its engine.

Its bytes are another matter; see :mod:`.sealing`. Nothing is asked of a model.
"""

from collections.abc import Mapping
from typing import Any

from ..engines.adapters import ADAPTERS
from ..engines.channel import CallContext
from ..engines.models import Model, connect
from ..errors import ArtifactError, JuristError
from .artifact_card import Artifact
from .artifacts import Store
from .locating import judge_of


def unfit(artifact: Artifact, store: Store) -> str:
    """Return why an artifact cannot be used with what is installed, in one line; empty if it can."""
    try:
        judge = judge_of(artifact, store).as_compiled(artifact.card)
        artifact.program(judge)
        adapter = str(artifact.card.get("adapter", "chat"))
        if adapter not in ADAPTERS:
            raise ArtifactError(
                f"it was proven with the prompt format {adapter!r}, which is not here", hint=_newer(artifact)
            )
        for role in ("model", "verifier"):
            if name := (artifact.card.get(role) or {}).get("name"):
                connect(Model(name=name), CallContext.fresh())
    except JuristError as error:
        return str(error)
    return ""


def _newer(artifact: Artifact) -> str:
    made = (artifact.card.get("versions") or {}).get("jurist")
    return f"use jurist {made}, with which it was made" if made else "use the version that it was made with"


def needs(card: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an artifact needs: engine, prompt format, fields by type (the answer last), and versions it is of."""
    types = card.get("types") or {}
    names = [name for name in (*(card.get("inputs") or ()), card.get("output_field")) if name in types]
    return {
        "engine": (card.get("model") or {}).get("name"),
        "adapter": card.get("adapter", "chat"),
        "fields": {name: _short(types[name]) for name in names},
        "versions": dict(card.get("versions") or {}),
    }


def _short(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return f"one of {', '.join(map(str, schema['enum']))}"
    kind = str(schema.get("type") or schema.get("python") or "object")
    items = schema.get("items")
    return f"list of {_short(items)}" if kind == "array" and isinstance(items, Mapping) else kind
