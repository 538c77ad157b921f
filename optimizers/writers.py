"""A proposer of a step that writes: its signatures, and the failures that concern the step, in the documents' language.

A generator has several steps that write. A check's failures are shown to the steps that they concern (HaluAgent
section 3.2: each agent gets what its own check found), as texts that differ: one failed item of each document first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Final

import dspy

from ..cases import Case
from ..evaluation.checked_items import CheckedItem, items_of
from ..evaluation.scale import SHOWN
from ..programs.generator import Generator
from ..programs.languages import label_words
from ..text.numerals import comparable_letters
from ..text.ranking import near
from ..text.wording import Language, strings
from .objective import Outcome
from .phrases import PHRASES

_MOST_FAILURES: Final = 60
"""Failures of a step that a proposer may be shown, at most."""


@dataclass(frozen=True, kw_only=True)
class _Failure:
    """An item that failed."""

    case: Case
    words: str  # the item with the reasons
    letters: str  # what was written, by which near copies are told


class RewriteWriting(dspy.Signature):
    """Rewrite the instruction of a step that writes, so that what it writes passes the checks.

    A program writes items from documents in several steps. You see what this step is given and what it writes, its
    current instruction, instructions that were tried before with the share of items that then passed all checks (0 to
    100), and what failed under the current instruction, each with the reason. Find what the failures have in
    common. Keep what works, and add the general rule that the writer lacks. Do not quote what was written, do not name
    the checks, and do not tell the writer to claim that they hold. Write nothing but the instruction.
    """

    task: str = dspy.InputField(desc="what the step is given, and what it writes")
    current_instruction: str = dspy.InputField(desc="the instruction to rewrite")
    scored_instructions: str = dspy.InputField(desc="instructions with their scores (0 to 100), best last")
    errors: str = dspy.InputField(desc="what was written and failed, with the reasons")
    instruction: str = dspy.OutputField(desc="the rewritten instruction")


class ProposeWriting(dspy.Signature):
    """Write a better instruction for a step that writes, so that what it writes passes the checks.

    A program writes items from documents in several steps. You see what this step is given and what it writes, the
    instructions tried so far with the share of items that then passed all checks (0 to 100, the best last), and what
    failed under the best one, each with the reason. Write one new instruction that differs from all of them and will
    score higher: keep what works, and add the general rule that the failures show to be missing. Do not quote what was
    written, do not name the checks, and do not tell the writer to claim that they hold. Write nothing but the
    instruction.
    """

    task: str = dspy.InputField(desc="what the step is given, and what it writes")
    scored_instructions: str = dspy.InputField(desc="instructions with their scores, ascending")
    errors: str = dspy.InputField(desc="what was written and failed, with the reasons")
    instruction: str = dspy.OutputField(desc="the new instruction")


class DistilWritingRules(dspy.Signature):
    """Write down the rules that a step which writes has to follow, so that what it writes passes the checks.

    A program writes items from documents in several steps. You see what this step is given and what it writes, its
    current instruction, and numbered items that failed, each with the reason. Write few short rules, the most useful
    first. Each is general, avoids several of the failures, and says something that the instruction does not say. Do not
    quote what was written, and do not name the checks. Write one rule a line, and end each line with the numbers of the
    items that it rests on, as in [cases 2, 5]. Write nothing else.
    """

    task: str = dspy.InputField(desc="what the step is given, and what it writes")
    current_instruction: str = dspy.InputField(desc="the instruction that the rules are added to")
    cases: str = dspy.InputField(desc="numbered items that failed, with the reasons")
    rules: str = dspy.OutputField(desc="a rule a line, each with the numbers of its items in brackets")


class SayWhyFailed(dspy.Signature):
    """Say in one short sentence what a step that writes has to do otherwise, so that such an item passes the checks.

    Name what in the item is at fault, and write nothing else.
    """

    task: str = dspy.InputField(desc="what the step is given, and what it writes")
    mistake: str = dspy.InputField(desc="what was written and failed, with the reasons")
    reason: str = dspy.OutputField(desc="what the step has to do otherwise")


def describe_step(generator: Generator, step: str, language: Language) -> str:
    """Return a text for a proposer: what a step is given, what it writes, and the steps of the program."""
    phrases = PHRASES[language]
    predictors = dict(generator.basic().named_predictors())
    signature = predictors[step].signature
    lines = [phrases["given"]]
    for name, info in signature.input_fields.items():
        lines.append(f"- {name}: {info.json_schema_extra['desc']}")
    lines.append(phrases["writes"])
    for name, info in signature.output_fields.items():
        lines.append(f"- {name}: {info.json_schema_extra['desc']}")
    if len(predictors) > 1:
        lines.append(phrases["steps"].format(steps=", ".join(predictors), step=step))
    return "\n".join(lines)


def failures_of_step(
    generator: Generator, step: str, outcomes: Iterable[tuple[Case, Outcome]], language: Language
) -> list[tuple[Case, str]]:
    """Return the failed items that concern a step, each with its case, in words; no two are near copies."""
    failures_of_groups: dict[str, list[_Failure]] = {}
    for case, outcome in outcomes:
        if outcome.has_error:
            failures = failures_of_groups.setdefault(case.group, [])
            failures += _failures_of_case(generator, step, case, outcome, language)
    chosen: list[_Failure] = []
    # The first failure of each document, then the second of each, and so on.
    for failure in chain.from_iterable(zip_longest(*failures_of_groups.values())):
        if failure is None:
            continue
        # What other steps wrote is the same for several items of a document.
        is_new = not any(near(failure.letters, earlier.letters) for earlier in chosen)
        if is_new and len(chosen) < _MOST_FAILURES:
            chosen.append(failure)
    return [(failure.case, failure.words) for failure in chosen]


def _failures_of_case(
    generator: Generator, step: str, case: Case, outcome: Outcome, language: Language
) -> list[_Failure]:
    """Return the failed items of a case that concern a step; one failure where nothing was written."""
    items: list[CheckedItem] = []
    for value in outcome.row.predicted:
        items.extend(items_of(value))
    if not items:
        words = PHRASES[language]["nothing"]
        if outcome.verdict.reasoning:
            words += f": {outcome.verdict.reasoning[:SHOWN]}"
        return [
            _Failure(
                case=case, words=words, letters=comparable_letters(" ".join(strings(case.inputs)))[:SHOWN]
            )
        ]
    failures: list[_Failure] = []
    for item in items:
        reasons = reasons_for_step(generator, step, item, language)
        if reasons:
            words = _failure_in_words(item, reasons, language)
            letters = comparable_letters(" ".join(strings(item.data)))
            failures.append(_Failure(case=case, words=words, letters=letters))
    return failures


def reasons_for_step(generator: Generator, step: str, item: CheckedItem, language: Language) -> list[str]:
    """Return a line for each check that an item fails and that concerns a step: ``label: no: the reason``."""
    lines: list[str] = []
    for name, check in zip(generator.checks, item.checks, strict=True):
        if check.verdict == "yes":
            continue
        reason = generator.reason_for(step, name, check.reason)
        if reason is not None:
            verdict = label_words(language).get(check.verdict, check.verdict)
            lines.append(f"{name}: {verdict}" + (f": {reason}" if reason else ""))
    return lines


def _failure_in_words(item: CheckedItem, reasons: Sequence[str], language: Language) -> str:
    """Return an item that failed, its texts shortened, with the reasons."""
    phrases = PHRASES[language]
    return f"{phrases['written']}{_shortened(item, language)}\n{phrases['failed']}{'; '.join(reasons)}"


def _shortened(item: CheckedItem, language: Language) -> str:
    """Return the fields of an item on a line each, shortened, labels in words; of one without fields its JSON text."""
    fields = item.data
    if not isinstance(fields, dict):
        return item.content[:SHOWN]
    lines = [""]
    for name, value in fields.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines.append(f"- {name}: {label_words(language).get(text, text)[:SHOWN]}")
    return "\n".join(lines)
