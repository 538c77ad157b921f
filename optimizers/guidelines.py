"""Rules distilled from what people said of training cases, each with the cases it rests on, and the quick ``teach``."""

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dspy

from ..cases import Case
from ..programs.state import PromptState
from .base import Job, Optimizer
from .board import Board, Candidate
from .drawing import blocks, stratified
from .fewshot import pool_of, remembering
from .proposing import CopyGuard, Writing, exemplar, propose, task, truths
from .raced import Track

_HEAD = "Rules that people follow here:"
_RULE = re.compile(r"\W*(?:\d+[.):]\s*)?(.+?)\s*[\[(]\s*cases?[\s:]*([\d,;\s]+)[\])]\W*")


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

    most: int = 8  # rules
    batch: int = 20  # cases shown to a proposer at once
    sample: int = 100  # cases that rules are made of, at most
    name: str = "guidelines"

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Have rules written once from reasons, then for later leaders from what they get wrong."""
        leader, job = track.text, track.job
        if turn > 2 or any(_HEAD in prompt.instructions for prompt in leader.state.predictors.values()):
            return []
        shown = self.reasons(job) if turn == 1 else []
        shown = shown or [(case, outcome.feedback) for case, outcome in track.errors(leader)]
        state, params = self.ruled(job, leader.state, shown)
        return track.fresh(state, parent=leader, source=self.name, params=params) if params else []

    def proposer_calls(self, job: Job) -> int:
        """Return a call for each portion of the cases with a reason, or of all of train where nobody gave any."""
        return self.portion_count(len(self.reasons(job)) or len(job.train))

    def portion_count(self, cases: int) -> int:
        """Return the number of portions in which so many cases are shown to a proposer."""
        return math.ceil(min(cases, self.sample) / max(1, self.batch))

    def reasons(self, job: Job) -> list[tuple[Case, str]]:
        """Return the cases of train with a reason, and what people said of them."""
        return [(case, truths(case, job.judge.answer)) for case in job.labelled_train() if case.reason]

    def ruled(
        self, job: Job, state: PromptState, shown: Sequence[tuple[Case, str]]
    ) -> tuple[PromptState, dict[str, Any]]:
        """Return a prompt with the rules that a proposer writes, and the rules with the ids of their cases, if any."""
        drawn = random.Random(f"{self.name}/{job.seed}").sample(list(shown), min(self.sample, len(shown)))
        name, rules = answering(job), dict[str, list[str]]()
        about = {"task": task(job, name), "current_instruction": state.predictors[name].instructions}
        guard = CopyGuard(job.train, [about["current_instruction"]])
        for portion in blocks(drawn, self.batch):
            numbered = dict(enumerate(portion, 1))
            cases = "\n\n".join(f"case {at}\n{exemplar(*pair)}" for at, pair in numbered.items())
            for answer in propose(job, DistilRules, [{**about, "cases": cases}], self.temperature):
                for line in filter(None, map(_RULE.fullmatch, answer["rules"].splitlines())):
                    rule, numbers = line[1], {int(number) for number in re.findall(r"\d+", line[2])}
                    if guard.share(rule) <= self.copied:
                        ids = [case.id for at, (case, _) in numbered.items() if at in numbers]
                        rules.setdefault(rule, []).extend(ids)
        most_cases_first = sorted(filter(rules.get, rules), key=lambda rule: -len(rules[rule]))
        kept = most_cases_first[: self.most]
        while kept and len(text := with_rules(about["current_instruction"], kept)) > self.longest:
            kept.pop()
        if not kept:
            return state, {}
        record = [{"rule": rule, "cases": sorted(set(rules[rule]))} for rule in kept]
        return state.with_instruction(name, text), {"rules": record}


def with_rules(instruction: str, rules: Sequence[str]) -> str:
    """Return an instruction with these rules in place of those it had."""
    before = instruction.partition(f"\n\n{_HEAD}\n")[0]
    lines = [f"{number}. {rule}" for number, rule in enumerate(rules, 1)]
    return "\n".join([f"{before}\n\n{_HEAD}", *lines]) if rules else before


def with_more_rules(instruction: str, rules: Sequence[str]) -> str:
    """Return an instruction with these rules after those it has."""
    held = instruction.partition(f"\n\n{_HEAD}\n")[2].splitlines()
    return with_rules(instruction, [*(line.partition(". ")[2] for line in held), *rules])


def rules_in(state: PromptState, params: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rules of any of these candidates' records that stand in a prompt, with their cases."""
    text = "\n".join(prompt.instructions for prompt in state.predictors.values())
    every = (rule for record in params for rule in record.get("rules", ()))
    return [dict(rule) for rule in {rule["rule"]: rule for rule in every if rule["rule"] in text}.values()]


def answering(job: Job) -> str:
    """Return the predictor that gives the answer: the last one that has its field."""
    predictors = dict(job.judge.basic().named_predictors())
    fields = set(job.judge.answer.fields)
    answering_ = [name for name, step in predictors.items() if fields <= step.signature.output_fields.keys()]
    return str((answering_ or list(predictors))[-1])


@dataclass(frozen=True, kw_only=True)
class Teach(Guidelines, Optimizer):
    """Rules and nearest rows, without a search: the basic prompt and the taught one are scored on dev."""

    nearest: int = 8  # rows a call
    tokens: int = 4_000  # what they take at most, about
    errors: int = 20  # train cases that are judged to find errors, where nobody gave a reason
    name: str = "teach"

    @property
    def searches(self) -> bool:
        """Whether it takes more calls than it starts with."""
        return False

    @property
    def shows_nearest_rows(self) -> bool:
        """Whether its prompt shows them."""
        return True

    @property
    def most_demonstrations(self) -> int:
        """The rows a call."""
        return self.nearest

    def least_cases(self, job: Job) -> int:
        """Return the cases that rules are made of, and dev."""
        return min(len(job.train), self.sample) + len(job.dev)

    def minimum(self, job: Job) -> int:
        """Return the calls of two passes over dev, and of what makes the rules."""
        reasons = len(self.reasons(job))
        looked = 0 if reasons else min(self.errors, len(job.train))
        portions = self.portion_count(reasons or looked)
        return (2 * len(job.dev) + looked) * job.calls_per_case + portions

    def run(self, job: Job, board: Board, start: Candidate) -> None:
        """Teach the start, and score it on dev."""
        shown = self.reasons(job)
        if not shown:
            order = stratified(job.labelled_train(), job.judge.answer, random.Random(f"teach/{job.seed}"))
            looked = order[: self.errors]
            outcomes = zip(looked, board.score(start, looked), strict=True)
            shown = [(case, outcome.feedback) for case, outcome in outcomes if outcome.feedback]
        state, params = self.ruled(job, start.state, shown)
        words = f"{len(params.get('rules', ()))} rules of {len(shown)} cases"
        if job.judge.answer.has_examples:
            state = remembering(job.judge, pool_of(job), state, self.nearest, self.tokens, job.embedder)
            words += ", nearest rows"
        taught = board.add(state, parent=start, source=f"teach, {words}", demo_ids=(), params=params)
        board.score(taught, job.dev)
        job.note(f"teach: {words}", board.value(taught, job.dev), kind="step")
