"""How results show themselves in a notebook: their tables, plots and words as HTML."""

from collections.abc import Sequence

from ..keeping.artifact_card import Artifact
from .document import Plot
from .figures import score_parts, search_parts
from .plotting import COLOURS
from .render import as_html, escape_html
from .scores import spend_line
from .table import Table

_STYLE = ";".join(
    [
        "max-width:44em;margin:0;--ink:currentColor;--rule:rgb(128 128 128/.5)",
        *(f"--series-{number}:{colour}" for number, colour in enumerate(COLOURS, 1)),
    ]
)
"""What a plot takes for the colours of a page: a notebook has its own, light or dark."""


def html_of(parts: Sequence[Table | Plot | str]) -> str:
    """Return tables, plots and paragraphs as one HTML element; no text in them is taken for markup."""
    return f"<div>{''.join(_html(part) for part in parts if part)}</div>"


def _html(part: Table | Plot | str) -> str:
    if isinstance(part, Table):
        return as_html(part)
    if isinstance(part, Plot):
        said = escape_html(f"{part.title}: {part.words}")
        return f'<figure role="img" aria-label="{said}" style="{_STYLE}">{part.svg}</figure>'
    return f"<p>{escape_html(part)}</p>"


def artifact_html(artifact: Artifact, note: str = "") -> str:
    """Return an artifact's scores, decision, cost and search as one HTML element."""
    card, parts = artifact.card, list[Table | Plot | str]()
    decision, scores, spend = (card.get(name) or {} for name in ("decision", "scores", "spend"))
    if scores and decision:  # a bundle of another tool has no proof
        parts = [*score_parts(scores, decision.get("metric", ""), "the sealed test")]
        parts.append(f"decision: {decision.get('words', '')}")
        parts += [f"warning: {warning}" for warning in decision.get("warnings") or ()]
    if spend:
        tried = (card.get("optimizer") or {}).get("candidates", len(artifact.history))
        parts.append(f"{spend_line(spend)}; {tried} candidates")
    kept = f"artifact: {artifact.ref} in {artifact.path}{note}"
    return html_of([*parts, kept, *search_parts(artifact)])


Artifact.as_html = artifact_html
