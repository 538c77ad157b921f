"""The prompt of a program as a value: what optimizers propose and artifacts keep.

A DSPy program is mutable and carries much that is not its prompt. A :class:`PromptState` is only the prompt: for each
predictor its instruction and its few-shot demonstrations. It is compared, hashed, stored, and applied to a fresh copy
of the program.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import dspy

from ..text.templates import normalise_instruction
from .plain_json import jsonable
from .questions import Question, Questions, questions_of, with_questions
from .remembering import Remembered, Remembering

Demo = Mapping[str, object]
"""A few-shot demonstration: input and output field -> JSON value."""
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")


@dataclass(frozen=True, kw_only=True)
class PredictorPrompt:
    """One predictor's instruction, demonstrations, in prompt order, the rows it remembers, and its questions."""

    instructions: str
    demos: tuple[Demo, ...] = ()
    remembered: Remembered | None = None
    questions: Questions = ()

    @classmethod
    def of(cls, predictor: dspy.Predict) -> PredictorPrompt:
        """Read the prompt of a predictor."""
        demos: list[Demo] = []
        for demo in predictor.demos:
            demos.append(_plain_demo(dict(demo)))
        remembered: Remembered | None = None
        if isinstance(predictor, Remembering):
            remembered = predictor.remembered
        instructions = normalise_instruction(predictor.signature.instructions)
        return cls(
            instructions=instructions,
            demos=tuple(demos),
            remembered=remembered,
            questions=questions_of(predictor.signature),
        )

    @property
    def examples(self) -> tuple[Demo, ...]:
        """All labelled rows that may stand in what is sent."""
        if self.remembered is None:
            return self.demos
        return self.demos + tuple(self.remembered.rows.values())

    def put_into(self, predictor: dspy.Predict) -> None:
        """Give the prompt to a predictor."""
        signature = with_questions(predictor.signature, self.questions)
        predictor.signature = signature.with_instructions(self.instructions)
        inputs = tuple(predictor.signature.input_fields)
        predictor.demos = []
        for demo in self.demos:
            predictor.demos.append(dspy.Example(**demo).with_inputs(*inputs))
        if self.remembered is not None:
            predictor.__class__ = Remembering  # in place: whatever module holds it goes on holding it
            predictor.remembered = self.remembered

    def to_json(self) -> dict[str, object]:
        """Return ``{"instructions": str, "demos": [...]}``, with ``nearest`` and ``questions`` where it has them."""
        demos = [dict(demo) for demo in self.demos]
        data: dict[str, object] = {"instructions": self.instructions, "demos": demos}
        if self.remembered:
            data["nearest"] = self.remembered.to_json()
        if self.questions:
            data["questions"] = [question.to_json() for question in self.questions]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PredictorPrompt:
        """Rebuild the prompt that :meth:`to_json` gave."""
        remembered: Remembered | None = None
        if data.get("nearest"):
            remembered = Remembered.from_json(data["nearest"])
        return cls(
            instructions=data["instructions"],
            demos=tuple(data["demos"]),
            remembered=remembered,
            questions=tuple(map(Question.from_json, data.get("questions", ()))),
        )


@dataclass(frozen=True)
class PromptState:
    """The prompts of all predictors of a program, by predictor path."""

    predictors: Mapping[str, PredictorPrompt]

    @classmethod
    def of(cls, program: dspy.Module) -> PromptState:
        """Read the prompts of ``program``."""
        prompts: dict[str, PredictorPrompt] = {}
        for name, predictor in program.named_predictors():
            prompts[name] = PredictorPrompt.of(predictor)
        return cls(prompts)

    def apply(self, program: dspy.Module) -> dspy.Module:
        """Return a copy of ``program`` with these prompts; it may have no predictor that is not among them."""
        copy = program.deepcopy()
        for name, predictor in copy.named_predictors():
            self.predictors[name].put_into(predictor)
        return copy

    @cached_property
    def id(self) -> str:
        """12 hex digits of the hash of the content: equal prompts have equal ids."""
        text = json.dumps(self.to_json(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def questions(self) -> Questions:
        """The questions that are asked beside the judge's own."""
        for prompt in self.predictors.values():
            if prompt.questions:
                return prompt.questions
        return ()

    @property
    def shown(self) -> dict[str, tuple[tuple[Demo, ...], Remembered | None]]:
        """The demonstrations of each predictor, and the rows that it shows by their nearness."""
        demos: dict[str, tuple[tuple[Demo, ...], Remembered | None]] = {}
        for name, prompt in self.predictors.items():
            demos[name] = (prompt.demos, prompt.remembered)
        return demos

    def to_json(self) -> dict[str, object]:
        """Return ``{predictor: {"instructions": str, "demos": [...]}}``."""
        data: dict[str, object] = {}
        for name, prompt in self.predictors.items():
            data[name] = prompt.to_json()
        return data

    def brief(self) -> dict[str, object]:
        """Return :meth:`to_json` with the ids alone of remembered rows, which many candidates share."""
        data: dict[str, object] = {}
        for name, prompt in self.predictors.items():
            prompt_data = prompt.to_json()
            nearest = prompt_data.get("nearest")
            if isinstance(nearest, dict):
                nearest.pop("demos", None)
            data[name] = prompt_data
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PromptState:
        """Rebuild the state that :meth:`to_json` gave."""
        prompts: dict[str, PredictorPrompt] = {}
        for name, entry in data.items():
            prompts[name] = PredictorPrompt.from_json(entry)
        return cls(prompts)

    def with_instruction(self, predictor: str, instructions: str) -> PromptState:
        """Return a state in which one predictor has another instruction, as :func:`normalise_instruction` makes it."""
        prompt = replace(self.predictors[predictor], instructions=normalise_instruction(instructions))
        return PromptState({**self.predictors, predictor: prompt})

    def with_questions(self, predictor: str, questions: Questions) -> PromptState:
        """Return a state in which one predictor asks these questions."""
        prompt = replace(self.predictors[predictor], questions=questions)
        return PromptState({**self.predictors, predictor: prompt})

    def with_demos(
        self, predictor: str, demos: tuple[Demo, ...], remembered: Remembered | None = None
    ) -> PromptState:
        """Return a state in which one predictor has other demonstrations, and remembers these rows or none."""
        prompt = replace(self.predictors[predictor], demos=demos, remembered=remembered)
        return PromptState({**self.predictors, predictor: prompt})


def _plain_demo(demo: Demo) -> Demo:
    """Return the fields of a demonstration as plain JSON types, without DSPy's own."""
    fields: dict[str, object] = {}
    for name, value in demo.items():
        if not name.startswith("dspy_"):
            fields[name] = jsonable(value)
    return fields


def candidate_names(candidates: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the name of each prompt that was tried by its id, as ``opro-3``: its source's first word, and a number.

    ``candidates`` are (id, source) of each prompt, in the order in which they were tried.
    """
    names: dict[str, str] = {}
    counts = Counter[str]()
    for candidate_id, source in candidates:
        if candidate_id in names:
            continue
        name = "candidate"
        word = _WORD.search(source.lower())
        if word:
            name = word[0]
        counts[name] += 1
        names[candidate_id] = f"{name}-{counts[name]}"
        if name == "basic" and counts[name] == 1:
            names[candidate_id] = name
    return names
