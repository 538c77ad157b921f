"""A training file for fine-tuning a judge: chat messages with the answer that people, or auto-labelling, gave."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..cases import Case
from ..errors import UsageError
from ..gold.goldset import Gold
from ..gold.splits import Part, Shares

if TYPE_CHECKING:
    import dspy

    from ..keeping.loading import LoadedJudge
    from ..programs.answers.base import Answer

Message: TypeAlias = Mapping[str, str]
"""``{"role": "system" | "user" | "assistant", "content": str}``."""

Reason = Literal["held out", "unlabelled", "duplicates", "conflicting", "too long", "not readable"]

LEAST_EXAMPLES = 10
"""Fewer are refused by OpenAI's fine-tuning."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which cases become examples."""

    # the part of the split by group to take, or ``"all"``. The default keeps what ``jurist compile`` and a
    # later comparison test on out of the training file
    part: Part | Literal["all"] = "train"
    seed: int = 0  # of the split
    shares: Shares | None = None  # of train, dev and test; default: by how many rows there are
    max_tokens: int | None = None  # leave out longer ones: a token is four letters or one Chinese character

    def __post_init__(self) -> None:
        """Refuse a limit that no example meets."""
        if self.max_tokens is not None and self.max_tokens < 1:
            raise UsageError(f"--max-tokens {self.max_tokens} allows no example", hint="give 1 or more")


@dataclass(frozen=True, kw_only=True)
class Example:
    """One case as messages, the last of them the assistant's."""

    case: Case  # where it comes from
    messages: tuple[Message, ...]  # in their order
    tokens: int  # an estimate of their length

    @property
    def line(self) -> dict[str, Any]:
        """The line of the file."""
        return {"messages": [dict(message) for message in self.messages]}


@dataclass(frozen=True, kw_only=True)
class Training:
    """A training file."""

    examples: tuple[Example, ...]  # in the order of the gold
    left_out: Mapping[str, int]  # how many cases are not in it, by reason
    answer: Answer  # what the labels are

    def to_json(self) -> dict[str, Any]:
        """Return what is in the file, as plain values; ``tokens`` are estimates, None in an empty file."""
        sizes = sorted(example.tokens for example in self.examples)
        labels = Counter(
            self.answer.scale.text(value) for example in self.examples for value in example.case.known
        )
        return {
            "examples": len(self.examples),
            "groups": len({example.case.group for example in self.examples}),
            "labels": {label: labels[label] for label in sorted(labels)},
            "tokens": {
                "total": sum(sizes),
                "smallest": sizes[0] if sizes else None,
                "median": median(sizes) if sizes else None,
                "largest": sizes[-1] if sizes else None,
            },
            "left_out": dict(self.left_out),
        }


def make_training(
    loaded: LoadedJudge,
    gold: Gold,
    selection: Selection | None = None,
    on_case: Callable[[], None] = lambda: None,
) -> Training:
    """Turn labelled cases into a training file; what is left out is counted, as a reply that is not read back."""
    from ..engines.adapters import adapter as adapter_named

    predictor, adapter = _predictor(loaded), adapter_named(loaded.adapter)
    chosen, left = selection or Selection(), Counter[Reason]()
    of_part = gold.cases if chosen.part == "all" else gold.split(chosen.seed, chosen.shares).part(chosen.part)
    taken = {case.id for case in of_part}
    found: dict[str, Example] = {}
    answers: dict[str, set[str]] = {}
    for case in gold.cases:
        on_case()
        if case.known and case.id not in taken:
            left["held out"] += 1
        elif case.gold is None or None in case.gold:
            left["unlabelled"] += 1
        else:
            example = _example(loaded, predictor, adapter, case)
            if example is None:
                left["not readable"] += 1
                continue
            asked = json.dumps([dict(message) for message in example.messages[:-1]], ensure_ascii=False)
            answers.setdefault(asked, set()).add(example.messages[-1]["content"])
            left["duplicates"] += asked in found
            found.setdefault(asked, example)
    kept = []
    for asked, example in found.items():
        if len(answers[asked]) > 1:
            left["conflicting"] += 1
        elif chosen.max_tokens is not None and example.tokens > chosen.max_tokens:
            left["too long"] += 1
        else:
            kept.append(example)
    return Training(
        answer=loaded.judge.answer,
        examples=tuple(kept),
        left_out={reason: left[reason] for reason in sorted(left) if left[reason]},
    )


def _predictor(loaded: LoadedJudge) -> dspy.Predict:
    judge = loaded.judge
    program = loaded.artifact.program(judge) if loaded.artifact else judge.basic()
    predictors = [predictor for _, predictor in program.named_predictors()]
    if len(predictors) != 1 or tuple(predictors[0].signature.input_fields) != judge.input_fields:
        raise UsageError(
            f"{loaded.name} is not one prompt filled with its inputs, so there is nothing to train one model on",
            hint="use a judge that asks once, such as detector",
        )
    others = [name for name in predictors[0].signature.output_fields if name not in judge.answer.fields]
    if others:
        raise UsageError(
            f"the reply of {loaded.name} also has {', '.join(others)}, which gold does not give",
            hint="use a judge whose reply is its labels, such as detector",
        )
    return predictors[0]


def _example(
    loaded: LoadedJudge, predictor: dspy.Predict, adapter: dspy.Adapter, case: Case
) -> Example | None:
    """Return the example of a case, or ``None`` if its reply would not be read as its labels."""
    import dspy
    from dspy.utils.exceptions import AdapterParseError

    from ..text.terms import count_tokens

    judge, signature = loaded.judge, predictor.signature
    assert case.gold is not None
    asked = adapter.format(signature, predictor.demos, judge.prompt_values(case.inputs))
    fields = judge.said(case.gold, case.inputs)
    said = adapter.format_assistant_message_content(signature, fields).strip()
    try:
        again = judge.read(dspy.Prediction(**adapter.parse(signature, said)), case.inputs)
    except AdapterParseError:
        return None
    whole = [*asked, {"role": "assistant", "content": said}]
    if again.values != case.gold or not all(isinstance(one["content"], str) for one in whole):  # or an image
        return None
    messages = tuple({"role": str(one["role"]), "content": one["content"]} for one in whole)
    return Example(case=case, messages=messages, tokens=sum(count_tokens(one["content"]) for one in messages))
