"""Rules distilled from what people said of training cases, each with the cases it rests on."""

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import dspy

from ..cases import Case
from ..programs.state import PromptState
from ..text.wording import language_of
from .base import Job
from .board import Candidate
from .drawing import blocks
from .phrases import PHRASES
from .proposing import (
    CopyGuard,
    Writing,
    describe_gold,
    describe_task,
    exemplar,
    language_of_job,
    propose,
    signature_for,
)
from .raced import Track
from .settings import CountFromOne
from .writers import DistilWritingRules

Lesson: TypeAlias = tuple[Case, str]
"""A case, and in words what people said of it or what was wrong with its verdict."""

_HEADS = tuple(phrases["rules"] for phrases in PHRASES.values())
"""What stands above rules in an instruction, in each language."""
_RULE = re.compile(r"\W*(?:\d+[.):]\s*)?(.+?)\s*[\[(]\s*(?:cases?|例)[\s:]*([\d,;，、\s]+)[\])]\W*")


class DistilRules(dspy.Signature):
    """Write down the rules that people follow when they label cases for a judge.

    You see what the judge is given and must answer, its current instruction, and numbered cases with the labels that
    people gave and, where they said so, why. Write few short rules, the most useful first. Each is general, settles
    several cases, and says something that the instruction does not say. Do not quote the cases. Write one rule a line,
    in the language of the instruction, and end each line with the numbers of the cases that it rests on,
    as in [cases 2, 5]. Write nothing else.
    """

    task: str = dspy.InputField(desc="the judge's inputs, its labels, and which of them are positive")
    current_instruction: str = dspy.InputField(desc="the instruction that the rules are added to")
    cases: str = dspy.InputField(desc="numbered cases, with the labels people gave, and their reasons")
    rules: str = dspy.OutputField(desc="a rule a line, each with the numbers of its cases in brackets")


@dataclass(frozen=True, kw_only=True)
class Guidelines(Writing):
    """The arm that adds rules to the leader: from the reasons people gave, and where nobody gave any from errors."""

    most: CountFromOne = 8  # rules
    batch: CountFromOne = 20  # cases shown to a proposer at once
    sample: CountFromOne = 100  # cases that rules are made of, at most
    name: str = "guidelines"
    product: ClassVar[str] = "set of rules"

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Have rules written once from reasons, then for later leaders from what they get wrong."""
        leader = track.text
        instructions = [prompt.instructions for prompt in leader.state.predictors.values()]
        has_rules = any(head in instruction for head in _HEADS for instruction in instructions)
        if turn > 2 or has_rules:
            return []
        lessons: list[Lesson] = []
        if turn == 1:
            lessons = self.reasons(track.job)
        if not lessons:
            lessons = track.feedback(leader, answering(track.job))
        state, params = self.ruled(track.job, leader.state, lessons)
        if not params:
            return []
        return track.fresh(state, parent=leader, source=self.name, params=params)

    def proposer_calls(self, job: Job) -> int:
        """Return a call for each portion of the cases with a reason, or of all of train where nobody gave any."""
        return self.portion_count(len(self.reasons(job)) or len(job.train))

    def portion_count(self, cases: int) -> int:
        """Return the number of portions in which so many cases are shown to a proposer."""
        return math.ceil(min(cases, self.sample) / max(1, self.batch))

    def reasons(self, job: Job) -> list[Lesson]:
        """Return the training cases with a reason, each with the labels that people gave, in words."""
        lessons: list[Lesson] = []
        for case in job.labelled_train():
            if case.reason:
                lessons.append((case, describe_gold(case, job.judge)))
        return lessons

    def ruled(
        self, job: Job, state: PromptState, lessons: Sequence[Lesson]
    ) -> tuple[PromptState, dict[str, Any]]:
        """Return a prompt with the rules that a proposer writes, and the rules with the ids of their cases, if any."""
        random_ = random.Random(f"{self.name}/{job.seed}")
        drawn = random_.sample(list(lessons), min(self.sample, len(lessons)))
        name = answering(job)
        instruction = state.predictors[name].instructions
        rules = self._proposed_rules(job, name, instruction, drawn)
        supported = [rule for rule, case_ids in rules.items() if case_ids]
        supported.sort(key=lambda rule: -len(rules[rule]))
        best_rules = supported[: self.most]
        while best_rules and len(with_rules(instruction, best_rules)) > self.longest:
            best_rules.pop()
        if not best_rules:
            return state, {}
        record: list[dict[str, object]] = []
        for rule in best_rules:
            record.append({"rule": rule, "cases": sorted(set(rules[rule]))})
        return state.with_instruction(name, with_rules(instruction, best_rules)), {"rules": record}

    def _proposed_rules(
        self, job: Job, name: str, instruction: str, lessons: Sequence[Lesson]
    ) -> dict[str, list[str]]:
        """Return rule -> ids of the cases that it rests on, without rules that copy training cases."""
        inputs = {"task": describe_task(job, name), "current_instruction": instruction}
        signature = signature_for(job, DistilRules, DistilWritingRules)
        guard = CopyGuard(job.train, [instruction])
        rules: dict[str, list[str]] = {}
        for portion in blocks(lessons, self.batch):
            exemplars: list[str] = []
            for number, (case, words) in enumerate(portion, 1):
                heading = PHRASES[language_of_job(job)]["case"].format(number=number)
                exemplars.append(f"{heading}\n{exemplar(job, name, case, words)}")
            request = {**inputs, "cases": "\n\n".join(exemplars)}
            for answer in propose(job, signature, [request], self.temperature):
                for line in answer["rules"].splitlines():
                    match = _RULE.fullmatch(line)
                    if match is None or guard.share(match[1]) > self.copied:
                        continue
                    numbers = set(map(int, re.findall(r"\d+", match[2])))
                    case_ids = rules.setdefault(match[1], [])
                    for number, (case, _) in enumerate(portion, 1):
                        if number in numbers:
                            case_ids.append(case.id)
        return rules


def with_rules(instruction: str, rules: Sequence[str]) -> str:
    """Return an instruction with these rules in place of its own."""
    without_rules, _ = _cut_at_rules(instruction)
    if not rules:
        return without_rules
    head = PHRASES[language_of(without_rules)]["rules"]
    lines = [f"{without_rules}\n\n{head}"]
    for number, rule in enumerate(rules, 1):
        lines.append(f"{number}. {rule}")
    return "\n".join(lines)


def _cut_at_rules(instruction: str) -> tuple[str, str]:
    """Return an instruction without its rules, and the numbered rules; empty without any."""
    for head in _HEADS:
        without_rules, found, numbered_rules = instruction.partition(f"\n\n{head}\n")
        if found:
            return without_rules, numbered_rules
    return instruction, ""


def with_more_rules(instruction: str, rules: Sequence[str]) -> str:
    """Return an instruction with these rules after its own."""
    _, numbered_rules = _cut_at_rules(instruction)
    present_rules = [line.partition(". ")[2] for line in numbered_rules.splitlines()]
    return with_rules(instruction, present_rules + list(rules))


def rules_in(state: PromptState, params: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rules that stand in a prompt, with their cases; ``params`` are the records of candidates."""
    text = "\n".join(prompt.instructions for prompt in state.predictors.values())
    rules: dict[str, dict[str, Any]] = {}
    for record in params:
        for rule in record.get("rules", ()):
            if rule["rule"] in text:
                rules[rule["rule"]] = dict(rule)
    return list(rules.values())


def answering(job: Job) -> str:
    """Return the name of the predictor that gives the answer: the last one that has its fields."""
    predictors = job.judge.basic().named_predictors()
    answer_fields = set(job.judge.answer.fields)
    last = ""
    last_with_answer = ""
    for name, predictor in predictors:
        last = str(name)
        if answer_fields <= predictor.signature.output_fields.keys():
            last_with_answer = last
    return last_with_answer or last
