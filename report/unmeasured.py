"""What an artifact's figures do not say, in words."""

from collections.abc import Iterator, Mapping
from typing import Any

_FEW_GROUPS = 10


def unmeasured(
    card: Mapping[str, Any], *, proof: bool, raters: bool, offline: bool, attacked: bool
) -> tuple[str, ...]:
    """Return what was not measured, a statement each."""
    argues = "What a text that argues with the judge achieves: jurist harden measures it."
    return (*_statements(card, proof, raters, offline), *(() if attacked else (argues,)))


def _statements(card: Mapping[str, Any], proof: bool, raters: bool, offline: bool) -> Iterator[str]:
    samples = int((card.get("thresholds") or {}).get("samples") or 1)
    if offline:
        yield "Any language model: the offline engine scores how texts overlap, and says nothing about one."
    if not proof:
        yield "Single cases: this artifact is of a version that did not keep what was said on the sealed test."
    if samples == 1 and not card.get("calibration"):
        yield "How sure the judge is: one sample a case gives no votes, so there is no threshold and no calibration."
    elif samples > 1 and proof:
        yield "What other thresholds would give, where drawing stopped because nothing could change any more."
    yield "How far answers vary when the same cases are asked again: jurist compare with --repeats measures it."
    if not raters:
        yield "How well people agree on this gold: it holds one label a unit, so the human ceiling is not known."
    if (groups := (card.get("decision") or {}).get("groups")) is not None and groups < _FEW_GROUPS:
        yield f"Enough groups: with {groups}, only a large difference can be shown."
    if (opened := int(card.get("test_openings") or 1)) > 1:
        yield f"A fresh test: this one has been opened {opened} times; the level is stricter for it."
    yield "Other data than this gold: cases of other sources, languages or times may be judged otherwise."
