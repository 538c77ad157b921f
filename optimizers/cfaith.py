"""``cfaith``: error-driven rounds, after HaluAgent (C-FAITH section 3.2, Table 3), for any judge.

Each round runs the current prompts on train, groups the errors by their cause, with feedback in
words, and has every instruction rewritten several times from them and from the scored history, each
rewrite from other errors. The rewrites of a program with several predictors are tried together. The best
on dev seeds the next round. It ends after five rounds (the paper) or as soon as the best rewrite of a
round is below the current prompts on dev, as in Table 3 (62.50, 81.16, 88.41, then 86.15: stopped, the
second kept). For a judge, the verifiers' place is taken by the gold labels.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest

import dspy

from ..cases import Case
from .base import Job
from .board import Board, Candidate
from .proposing import CandidateFilter, Writing, by_cause, propose, rotated, scored, task
from .raced import Track


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


@dataclass(frozen=True, kw_only=True)
class ByCause(Writing):
    """The same as an arm of the race: the leader's instruction is rewritten from its errors."""

    rewrites: int = 3  # rewritten instructions a step
    errors: int = 8  # errors shown to each
    shown: int = 4  # scored instructions shown to each rewrite
    name: str = "causes"

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Rewrite the instruction of one predictor."""
        leader, board = track.leader, track.board
        name = tuple(leader.state.predictors)[(turn - 1) % len(leader.state.predictors)]
        errors = by_cause(board, leader, [case for case, _ in track.known(leader)])
        if not errors:
            return []
        values = {
            "task": task(track.job, name),
            "current_instruction": leader.state.predictors[name].instructions,
            "scored_instructions": scored(
                name, [(board.candidates[one.id], one.mean) for one in track.race.ranking()[: self.shown]]
            ),
        }
        draws = range((turn - 1) * self.rewrites, turn * self.rewrites)
        texts = propose(
            track.job, RewriteInstruction, _asked(values, errors, self.errors, draws), self.temperature
        )
        kept = track.filter(self)
        return kept.enter(leader, name, texts, track.step)


@dataclass(frozen=True, kw_only=True)
class CFaith(Writing):
    """The settings of the rounds."""

    rounds: int = 5  # at most this many (the paper: 5)
    rewrites: int = 6  # rewritten instructions a round ("a set of"; the paper gives no number)
    errors: int = 8  # errors shown to each rewrite
    sample: int = 60  # train documents (groups) on which the current prompts are run (the paper: 60)
    shown: int = 4  # scored instructions shown to each rewrite
    name: str = "cfaith"

    def minimum(self, job: Job) -> int:
        """Return the calls for the basic prompt on dev and train, one rewrite, and it on dev."""
        return (len(self._sample(job)) + 2 * len(job.dev)) * job.calls_per_case + 1

    def run(self, job: Job, board: Board, start: Candidate) -> Candidate:
        """Rewrite the instructions of ``start``, all of its predictors in each round."""
        sample = self._sample(job)
        candidate_filter = CandidateFilter.of(job, board, self)
        current, names = start, tuple(start.state.predictors)
        board.score(start, job.dev)
        for step in range(1, self.rounds + 1):
            errors = by_cause(board, current, [case for case in sample if case.id not in current.demo_ids])
            if not errors:
                break
            texts = [
                propose(
                    job, RewriteInstruction, self._asked(job, board, current, name, errors), self.temperature
                )
                for name in names
            ]
            proposals = [
                {name: text for name, text in zip(names, drawn, strict=True) if text}
                for drawn in zip_longest(*texts)
            ]
            fresh = candidate_filter.enter_all(current, proposals, step, "jointly" if len(names) > 1 else "")
            for candidate in fresh:
                board.score(candidate, job.dev)
                job.note(f"round {step}: {candidate.id}", board.value(candidate, job.dev), kind="candidate")
            best = max(fresh, key=lambda one: board.value(one, job.dev), default=None)
            if best is None or board.value(best, job.dev) < board.value(current, job.dev):
                job.note(f"round {step}: dev drops, stopped", board.value(current, job.dev), kind="step")
                break
            current = best
            job.note(
                f"round {step}: {board.name(current)} goes on", board.value(current, job.dev), kind="step"
            )
        return board.best(job.dev) or start

    def _sample(self, job: Job) -> list[Case]:
        """Return the train cases of some documents in random order: what has one group belongs together."""
        drawn = dict.fromkeys(case.group for case in job.train_sample(len(job.train)))
        order = {group: place for place, group in enumerate(islice(drawn, self.sample))}
        return sorted((case for case in job.train if case.group in order), key=lambda case: order[case.group])

    def _asked(
        self, job: Job, board: Board, current: Candidate, name: str, errors: Mapping[str, Sequence[str]]
    ) -> list[dict[str, str]]:
        best = [(one, board.value(one, job.dev)) for one in board.ranking(job.dev)[: self.shown]]
        values = {
            "task": task(job, name),
            "current_instruction": current.state.predictors[name].instructions,
            "scored_instructions": scored(name, best),
        }
        return _asked(values, errors, self.errors, range(self.rewrites))


def _asked(
    values: Mapping[str, str], errors: Mapping[str, Sequence[str]], count: int, draws: Iterable[int]
) -> list[dict[str, str]]:
    """Return the values of each draw: each sees other errors, at most ``count``."""
    # Causes take turns, so that a frequent one does not crowd out the others.
    mixed = [
        (cause, text)
        for texts in zip_longest(*([(cause, text) for text in found] for cause, found in errors.items()))
        for cause, text in filter(None, texts)
    ]
    return [{**values, "errors": _told(errors, rotated(mixed, count, draw))} for draw in draws]


def _told(errors: Mapping[str, Sequence[str]], shown: Sequence[tuple[str, str]]) -> str:
    """Return the shown errors under their causes, the most frequent cause first."""
    parts = []
    for cause, found in errors.items():
        texts = [text for one, text in shown if one == cause]
        if texts:
            parts.append(
                "\n\n".join([f"{cause}, {len(found)} of {sum(map(len, errors.values()))} errors:", *texts])
            )
    return "\n\n".join(parts)
