"""What differs from one judge to another: words of the prompt, demonstrations, settings, scores; and what was tried."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from ..arguments.groups import JUDGE_OPTIONS
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.naming import judge_of
from ..programs.state import PredictorPrompt, PromptState, candidate_names
from ..text.templates import CHAT, JSON, PLAIN
from .document import Changes, Word, text_of
from .scores import metric_cell, number_cell
from .table import Table, table

_MARKS = {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "model": ("model", "name"),
    "temperature": ("model", "temperature"),
    "prompts written by": ("prompt_model", "name"),
    "samples": ("thresholds", "samples"),
    "threshold": ("thresholds", "threshold"),
    "adapter": ("adapter",),
    "structure": ("structure",),
    **{option: (option,) for option in JUDGE_OPTIONS},
    "optimizer": ("optimizer", "name"),
    "seed": ("optimizer", "seed"),
    "gold": ("gold", "name"),
    "gold sha256": ("gold", "sha256"),
    "parent": ("parent",),
}


_NOTHING = PredictorPrompt(instructions="")
FORM_WORDS: Mapping[str, str] = {PLAIN: "your text as it stands", CHAT: "chat layout", JSON: "JSON layout"}
"""Form of a prompt -> what people call it."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the two."""

    name: str  # ``JUDGE@VERSION`` or ``JUDGE:basic``
    state: PromptState  # its prompt
    form: str = CHAT  # the form of its prompt
    card: Mapping[str, Any] = field(default_factory=dict)  # of the artifact; empty for a basic prompt
    # each metric on its own sealed test; empty if it was never proven
    scores: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, artifact: Artifact, basic: PromptState | None = None) -> "Side":
        """Return an artifact, or the basic prompt as it was asked beside it."""
        scores = artifact.about.scores or {}
        if basic:
            form = artifact.about.forms[0]
            return cls(
                name=f"{artifact.judge}:basic", state=basic, form=form, scores=scores.get("basic") or {}
            )
        own = scores.get("compiled") or {}
        form = artifact.about.forms[1]
        return cls(name=artifact.ref, state=artifact.state, form=form, card=artifact.card, scores=own)


def prompt_difference(first: Side, second: Side) -> str:
    """Return what changed in the prompt: ``[-removed-]`` and ``{+added+}`` words of each instruction that changed, and
    the demonstrations that went (``-``) and came (``+``); empty if nothing did.
    """
    before, after = first.state.predictors, second.state.predictors
    lines: list[str] = []
    if first.form != second.form:
        lines.append(f"## form: {_form_words((first.form, second.form))}")
    for name in sorted({*before, *after}):
        if name not in after:
            lines.append(f"## {name}: gone")
            continue
        old, new = before.get(name, _NOTHING), after[name]
        if old.instructions != new.instructions:
            words = word_changes(old.instructions, new.instructions)
            lines.append(f"## {name}: instruction")
            lines.append("".join(_MARKS[word.change].format(word.text) for word in words))
        had, demos = Counter(_examples(old)), Counter(_examples(new))
        if demos != had:
            lines.append(f"## {name}: demonstrations")
        if _shown(old) != _shown(new):
            lines.append(f"## {name}: shown with each row: {_shown(old) or 'all'} -> {_shown(new) or 'all'}")
        for mark, changed in (("-", had - demos), ("+", demos - had)):
            lines += [f"{mark} {text}".replace("\n", "\n  ") for text in changed.elements()]
    return "\n".join([f"--- {first.name}", f"+++ {second.name}", *lines]) if lines else ""


def setting_rows(first: Side, second: Side) -> list[list[str]]:
    """Return the settings that differ: name, first, second; none where one of them has no card."""
    if not (first.card and second.card):
        return []
    rows = []
    for setting, path in _SETTINGS.items():
        values: list[Any] = [first.card, second.card]
        for name in path:
            values = [(value or {}).get(name) for value in values]
        rows.append([setting, *map(str, values)])
    return [row for row in rows if row[1] != row[2]]


def score_rows(first: Side, second: Side) -> Table | None:
    """Return the scores of both, each on its own sealed test; ``None`` if neither was proven."""
    names = list(dict.fromkeys((*first.scores, *second.scores)))
    if not names:
        return None
    rows = [[name, *(metric_cell(side.scores.get(name)) for side in (first, second))] for name in names]
    return table("each on its own sealed test", ["metric [95 % interval]", first.name, second.name], rows)


_QUOTED = 12
"""Words that are quoted of what is new."""
_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")


def word_changes(before: str, after: str) -> tuple[Word, ...]:
    """Return the runs of words that stayed, were removed or were added: those of ``after`` give it back."""
    old, new, words = _TOKEN.findall(before), _TOKEN.findall(after), list[Word]()
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            words.append(Word("".join(new[c:d]), "same"))
        else:
            words += [Word("".join(old[a:b]), "removed"), Word("".join(new[c:d]), "added")]
    return tuple(word for word in words if word.text)


def prompt_changes(before: PromptState, after: PromptState) -> tuple[Changes, ...]:
    """Return what changed in each predictor's instruction, and the demonstrations that it got."""
    return tuple(
        Changes(
            title=f"instruction of {name}" if len(after.predictors) > 1 else "instruction",
            words=word_changes(before.predictors.get(name, _NOTHING).instructions, prompt.instructions),
            examples=_examples(prompt),
        )
        for name, prompt in sorted(after.predictors.items())
    )


def _examples(prompt: PredictorPrompt) -> tuple[str, ...]:
    """Return the demonstrations as text for people."""
    return tuple(
        "\n".join(f"{field}: {text_of(value, None)}" for field, value in demo.items())
        for demo in prompt.examples
    )


def _shown(prompt: PredictorPrompt) -> str:
    """Return how many of the demonstrations stand beside each row; empty where all do."""
    return prompt.remembered.words if prompt.remembered else ""


def change_words(before: PromptState, after: PromptState, forms: tuple[str, str]) -> str:
    """Return what changed in a prompt in one line: its form, how many words, how many demonstrations, and the first
    new words. ``forms`` are the forms before and after.
    """
    changes = prompt_changes(before, after)
    words = [word for change in changes for word in change.words]
    added, removed = (
        [run for word in words if word.change == change and (run := word.text.split())]
        for change in ("added", "removed")
    )
    parts = []
    if forms[0] != forms[1]:
        parts.append(_form_words(forms))
    for name, runs in (("added", added), ("removed", removed)):
        if runs:
            parts.append(f"{sum(map(len, runs))} words {name}")
    if demos := sum(len(change.examples) for change in changes):
        shown = next(filter(None, map(_shown, after.predictors.values())), "")
        of_each = f", each row sees {shown}" if shown else ""
        parts.append(f"{demos} demonstration{'s' if demos > 1 else ''}{of_each}")
    if not parts:
        return "the basic one, unchanged"
    longest = max(added, key=len, default=[])
    quoted = " ".join(longest[:_QUOTED]) + (" ..." if len(longest) > _QUOTED else "")
    return ", ".join(parts) + (f"; new: {quoted}" if longest else "")


def _form_words(forms: tuple[str, str]) -> str:
    """Return the forms before and after in words; a card may name one that is not known here."""
    before, after = (FORM_WORDS.get(form, form) for form in forms)
    return f"{before} -> {after}"


def sign_of(artifact: Artifact) -> float:
    """Return -1 if the metric is an error, of which less is better, else 1: what was maximised, times this, is it."""
    return -1.0 if artifact.about.decision.higher_is_better is False else 1.0


def basic_state(artifact: Artifact, store: Store) -> PromptState:
    """Return the basic prompt that was compiled, from the history; without one, the judge's basic prompt of today."""
    first = next(
        (row for row in artifact.history if row.get("source") == "basic" and row.get("prompt")), None
    )
    return (
        PromptState.of(judge_of(artifact, store).basic())
        if first is None
        else PromptState.from_json(first["prompt"])
    )


def history_table(artifact: Artifact) -> Table:
    """Return one row a candidate; the chosen one is marked."""
    chosen, names = artifact.about.optimizer.candidate, candidate_names_of(artifact)
    sign = sign_of(artifact)
    rows = [
        [
            row["step"],
            names[row["candidate"]],
            f"{row['candidate']}{' *' if row['candidate'] == chosen else ''}",
            names.get(row["parent"] or "", "-"),
            row["source"],
            row["calls"],
            _value(row["train"], sign),
            _value(row["dev"], sign),
            number_cell(row.get("gain"), "+.3f"),
            f"{sign * row['estimate']['value']:.3f} ± {row['estimate']['error']:.3f}"
            if row.get("estimate")
            else "-",
        ]
        for row in artifact.history
    ]
    columns = "step|name|candidate|parent|source|calls before|train|dev|gain on dev|estimate"
    return table(f"{artifact.ref} (* became the artifact)", columns.split("|"), rows)


def candidate_names_of(artifact: Artifact) -> dict[str, str]:
    """Return what the candidates of an artifact's history are called, by their ids."""
    return candidate_names((row["candidate"], str(row["source"])) for row in artifact.history)


def _value(part: Mapping[str, float | None], sign: float) -> str:
    return "-" if part["value"] is None else f"{sign * part['value']:.3f} on {part['cases']}"
