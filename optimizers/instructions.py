"""Optimizers and arms that have instructions written.

``opro`` is after Yang et al. (2023), ``causes`` and ``cfaith`` after HaluAgent (C-FAITH section 3.2, Table 3), and
``crossing`` after the merge of GEPA (Agrawal et al., 2025, section 3).
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, ClassVar

import dspy

from .board import Candidate
from .proposing import Writing, exemplar, propose, rotated, scored, task, truths
from .raced import Raced, Track


class ProposeInstruction(dspy.Signature):
    """Write a better instruction for a judge.

    You see what the judge is given and must answer, the instructions tried so far with their scores from 0
    to 100 (the best last), and cases on which the best one disagrees with people. Write one new instruction
    that differs from all of them and will score higher: keep what works, keep every label's definition, and
    state the general rule that the errors show to be missing. Do not quote the cases. Write the instruction
    in the language of the best one, and nothing but the instruction.
    """

    task: str = dspy.InputField(desc="the judge's inputs, its labels, and which of them count as found")
    scored_instructions: str = dspy.InputField(desc="instructions with their scores, ascending")
    errors: str = dspy.InputField(desc="cases the best instruction gets wrong, with the labels people gave")
    instruction: str = dspy.OutputField(desc="the new instruction")


class ProposeByScore(dspy.Signature):
    """Write a better instruction for a judge.

    You see what the judge is given and must answer, the instructions tried so far with their scores from 0
    to 100 (the best last), and some of the cases with the labels people gave. Write one new instruction that
    differs from all of them and will score higher. It should be concise, effective and generally
    applicable. Do not quote the cases. Write nothing but the instruction.
    """

    task: str = dspy.InputField(desc="the judge's inputs, its labels, and which of them count as found")
    scored_instructions: str = dspy.InputField(desc="instructions with their scores, ascending")
    examples: str = dspy.InputField(desc="some of the cases, with the labels people gave")
    instruction: str = dspy.OutputField(desc="the new instruction")


class RewriteInstruction(dspy.Signature):
    """Rewrite a judge's instruction so that it no longer makes the errors that are reported.

    You see what the judge is given and must answer, its current instruction, how instructions scored that were
    tried before, and cases that it got wrong, grouped by what was wrong. Find what the errors have in common and
    rewrite the instruction: keep what works, keep every label's definition, and add the general rule that is missing.
    Do not quote the cases. Write it in the language of the current one, and nothing but the instruction.
    """

    task: str = dspy.InputField(desc="the judge's inputs, its labels, and which of them count as found")
    current_instruction: str = dspy.InputField(desc="the instruction to rewrite")
    scored_instructions: str = dspy.InputField(desc="instructions with their scores (0 to 100), best last")
    errors: str = dspy.InputField(
        desc="cases it gets wrong, grouped by what is wrong, the most frequent first"
    )
    instruction: str = dspy.OutputField(desc="the rewritten instruction")


class MergeInstructions(dspy.Signature):
    """Merge two good instructions for a judge into a better one.

    You see what the judge is given and must answer, two instructions that were improved apart from each other, and
    cases that it judges right with the second one and wrong with the first. Write one instruction that keeps what
    works in each, keeps every label's definition, and contradicts itself nowhere. Do not quote the cases. Write
    it in the language of the first one, and nothing but the instruction.
    """

    task: str = dspy.InputField(desc="the judge's inputs, its labels, and which of them count as found")
    first_instruction: str = dspy.InputField(desc="the instruction that leads")
    second_instruction: str = dspy.InputField(desc="another good instruction")
    errors: str = dspy.InputField(
        desc="cases the first one gets wrong and the second right, with people's labels"
    )
    instruction: str = dspy.OutputField(desc="the merged instruction")


def _draws(turn: int, count: int) -> range:
    """Return the numbers of the draws of a turn."""
    return range((turn - 1) * count, turn * count)


@dataclass(frozen=True, kw_only=True)
class Opro(Writing, Raced):
    """OPRO's settings, beside those of the race."""

    candidates: int = 3  # instructions proposed a step (the paper: 8)
    shown: int = 20  # scored instructions kept in the meta-prompt (the paper: 20)
    exemplars: int = 3  # cases shown (the paper: 3)
    name: str = "opro"
    # cases shown are errors of the leader, or any of train as people labelled them
    random_exemplars: ClassVar[bool] = False

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Ask the proposer, and return what is new."""
        names = tuple(track.text.state.predictors)
        name = names[(turn - 1) % len(names)]
        signature = ProposeByScore if self.random_exemplars else ProposeInstruction
        answers = propose(track.job, signature, self._asked(track, name, turn), self.temperature)
        return track.write(self, track.text, [{name: answer["instruction"]} for answer in answers])

    def _asked(self, track: Track, name: str, turn: int) -> list[dict[str, str]]:
        """Return the values of each draw."""
        values = {
            "task": task(track.job, name),
            "scored_instructions": scored(name, track.best(self.shown)),
        }
        if self.random_exemplars:
            known = [case for case in track.race.order if case.known and case not in track.job.dev]
            random_ = random.Random(f"exemplars/{track.job.seed}/{turn}")
            drawn = random_.sample(known, min(self.exemplars, len(known)))
            texts = [exemplar(case, truths(case, track.job.judge.answer)) for case in drawn]
            return [{**values, "examples": "\n\n".join(texts) or "none"}] * self.candidates
        errors = [exemplar(case, outcome.feedback) for case, outcome in track.errors(track.text)]
        return [
            {**values, "errors": "\n\n".join(rotated(errors, self.exemplars, draw)) or "none"}
            for draw in _draws(turn, self.candidates)
        ]


@dataclass(frozen=True, kw_only=True)
class OproPaper(Opro):
    """The same with the paper's settings: the baseline."""

    steps: int = 10  # the paper: up to 200
    candidates: int = 8
    sample: int = 100
    patience: int = 10
    shrink: float = 0.0
    reach: float = 0.0
    name: str = "opro-paper"
    whole: ClassVar[str] = "train"
    random_exemplars: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class ByCause(Writing):
    """The arm that rewrites the leader's instruction from its errors."""

    rewrites: int = 3  # rewritten instructions a step
    errors: int = 8  # errors shown to each
    shown: int = 4  # scored instructions shown to each rewrite
    name: str = "causes"
    all_at_once: ClassVar[bool] = False  # whether each rewrite changes all predictors, or those take turns

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Rewrite the instruction of one predictor, or of each."""
        leader, names = track.text, tuple(track.text.state.predictors)
        if not self.all_at_once:
            names = (names[(turn - 1) % len(names)],)
        causes = _by_cause(track, leader)
        if not causes:
            return []
        shown = [_told(causes, self.errors, draw) for draw in _draws(turn, self.rewrites)]
        texts: list[list[str]] = []
        for name in names:
            values = {
                "task": task(track.job, name),
                "current_instruction": leader.state.predictors[name].instructions,
                "scored_instructions": scored(name, track.best(self.shown)),
            }
            asked = [{**values, "errors": errors} for errors in shown]
            answers = propose(track.job, RewriteInstruction, asked, self.temperature)
            texts.append([answer["instruction"] for answer in answers])
        proposals = [
            {name: text for name, text in zip(names, drawn, strict=True) if text}
            for drawn in zip_longest(*texts)
        ]
        return track.write(self, leader, proposals)


def _by_cause(track: Track, candidate: Candidate) -> dict[str, list[str]]:
    """Return exemplars of what a candidate gets wrong on train by their cause, in words, the most frequent first."""
    scale, causes = track.job.judge.answer.scale, defaultdict[str, list[str]](list)
    for case, outcome in track.errors(candidate):
        pairs = zip(outcome.row.gold, outcome.row.predicted, strict=True)
        words = {
            f"wanted {scale.category(gold)}, got {'no answer' if judged is None else scale.category(judged)}"
            for gold, judged in pairs
            if gold is not None and scale.credit(gold, judged) < 1
        }
        causes[" and ".join(sorted(words))].append(exemplar(case, outcome.feedback))
    return dict(sorted(causes.items(), key=lambda item: -len(item[1])))


def _told(causes: Mapping[str, Sequence[str]], count: int, draw: int) -> str:
    """Return the errors of a draw under their causes, the most frequent cause first: each sees others."""
    # Causes take turns, so that a frequent one does not crowd out the others.
    columns = ([(cause, text) for text in texts] for cause, texts in causes.items())
    shown = rotated([pair for pairs in zip_longest(*columns) for pair in filter(None, pairs)], count, draw)
    whole, parts = sum(map(len, causes.values())), []
    for cause, every in causes.items():
        if texts := [text for other, text in shown if other == cause]:
            parts.append("\n\n".join([f"{cause}, {len(every)} of {whole} errors:", *texts]))
    return "\n\n".join(parts)


@dataclass(frozen=True, kw_only=True)
class CFaith(ByCause, Raced):
    """HaluAgent's rounds: each rewrite is scored on all of dev; the first round that finds no better ends it."""

    steps: int = 5  # rounds at most (the paper: 5)
    rewrites: int = 6  # rewritten instructions a round ("a set of"; the paper gives no number)
    sample: int = 60  # train cases on which the current prompts are run (the paper: 60 documents)
    all_at_once: ClassVar[bool] = True
    whole: ClassVar[str] = "dev"
    patience: int = 1
    shrink: float = 0.0
    reach: float = 0.0
    name: str = "cfaith"


@dataclass(frozen=True, kw_only=True)
class Crossing(Writing):
    """The arm that makes one prompt of the leader and another good one."""

    merges: int = 2  # merged instructions a step
    exemplars: int = 4  # cases shown to each
    near: int = 8  # the best so many prompts are looked through for a partner
    name: str = "crossing"

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Cross the leader with the best partner in demonstrations, and in instructions."""
        leader, names = track.text, tuple(track.leader.state.predictors)
        made: list[Candidate | None] = []
        other = next((one for one in self._partners(track) if _taught(one) != _taught(leader)), None)
        if other is not None:
            made = [_with_demos_of(track, leader, other), _with_demos_of(track, other, leader)]
        merged = self._merged(track, names[(turn - 1) % len(names)], turn)
        return [*(one for one in made if one is not None), *merged]

    def _partners(self, track: Track) -> Iterator[Candidate]:
        """Yield the best prompts after the leader."""
        for standing in track.race.ranking()[: self.near]:
            if standing.id != track.leader.id:
                yield track.board.candidates[standing.id]

    def _merged(self, track: Track, name: str, turn: int) -> list[Candidate]:
        leader, basic = track.text, track.board.basic.state.predictors[name].instructions
        first = leader.state.predictors[name].instructions
        for partner in self._partners(track):
            second = partner.state.predictors[name].instructions
            if second not in (first, basic):
                break
        else:
            return []
        right = {case.id for case, outcome in track.known(partner) if not outcome.feedback}
        better = [exemplar(case, one.feedback) for case, one in track.errors(leader) if case.id in right]
        values = {"task": task(track.job, name), "first_instruction": first, "second_instruction": second}
        asked = [
            {**values, "errors": "\n\n".join(rotated(better, self.exemplars, draw)) or "none"}
            for draw in _draws(turn, self.merges)
        ]
        answers = propose(track.job, MergeInstructions, asked, self.temperature)
        return track.write(self, leader, [{name: answer["instruction"]} for answer in answers])


def _taught(one: Candidate) -> tuple[Any, ...]:
    return one.demo_ids, *(prompt.remembered for prompt in one.state.predictors.values())


def _with_demos_of(track: Track, one: Candidate, other: Candidate) -> Candidate | None:
    """Return ``one`` with the other's demonstrations; ``None`` if that is known."""
    state = one.state
    for name, prompt in other.state.predictors.items():
        state = state.with_demos(name, prompt.demos, prompt.remembered)
    return track.fresh(state, parent=one, source="crossing", demo_ids=other.demo_ids)
