"""What changed in a prompt, word by word."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal

from ..programs.state import PredictorPrompt, PromptState
from .document import Changes, Word

__all__ = ["prompt_changes", "word_changes"]

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


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
