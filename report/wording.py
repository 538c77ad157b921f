"""What changed in a prompt, word by word."""

import json
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal

from ..programs.state import PredictorPrompt, PromptState
from .document import Changes, Word

_QUOTED = 12
"""Words that are quoted of what is new."""
_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")


def word_changes(before: str, after: str) -> tuple[Word, ...]:
    """Return the runs of words that stayed, were removed or were added: those of ``after`` give it back."""
    return tuple(_runs(_TOKEN.findall(before), _TOKEN.findall(after)))


def _runs(before: list[str], after: list[str]) -> Iterator[Word]:
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        sides: list[tuple[Literal["same", "added", "removed"], list[str]]] = (
            [("same", after[c:d])] if kind == "equal" else [("removed", before[a:b]), ("added", after[c:d])]
        )
        yield from (Word(text="".join(tokens), change=change) for change, tokens in sides if tokens)


def prompt_changes(before: PromptState, after: PromptState) -> tuple[Changes, ...]:
    """Return what changed in each predictor's instruction, and the demonstrations that it got."""
    empty = PredictorPrompt(instructions="")
    return tuple(
        Changes(
            title=f"instruction of {name}" if len(after.predictors) > 1 else "instruction",
            words=word_changes(before.predictors.get(name, empty).instructions, prompt.instructions),
            examples=tuple(
                "\n".join(f"{field}: {_text(value)}" for field, value in demo.items())
                for demo in prompt.demos
            ),
        )
        for name, prompt in sorted(after.predictors.items())
    )


def change_words(before: PromptState, after: PromptState) -> str:
    """Return what changed in a prompt in one line: how many words, how many demonstrations, and the first new words."""
    changes = prompt_changes(before, after)
    words = [word for one in changes for word in one.words]
    added, removed = (
        [found for word in words if word.change == change and (found := word.text.split())]
        for change in ("added", "removed")
    )
    said = [
        f"{sum(map(len, runs))} words {name}"
        for name, runs in (("added", added), ("removed", removed))
        if runs
    ]
    if demos := sum(len(one.examples) for one in changes):
        said.append(f"{demos} demonstration{'s' if demos > 1 else ''}")
    if not said:
        return "the basic one, unchanged"
    longest = max(added, key=len, default=[])
    quoted = " ".join(longest[:_QUOTED]) + (" ..." if len(longest) > _QUOTED else "")
    return ", ".join(said) + (f"; new: {quoted}" if longest else "")


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
