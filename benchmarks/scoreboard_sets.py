"""The public sets of ``scoreboard.py``: a judge for each as a user would write it, its rows, and the split.

Each set lies in a folder of its own under ``--data``; docs/scoreboard.md says where the sets are from, and under which
licence. The columns of a file are the fields of its signature below, and ``group``. ``movies`` and ``news`` travel in
two Python packages under ``--packages``.
"""

import csv
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import dspy
from real_model import TASKS, sampled  # type: ignore[import-not-found]  # beside this file

import jurist
from jurist.cases import Case, text_hash

Row: TypeAlias = Mapping[str, Any]
"""A row as a judge takes it: its inputs, its label, and ``group`` where rows share a source."""

LABELS = (100, 200)
"""The numbers of labelled rows that a contender may be given."""
FEWEST_HELD_OUT = 80
"""Rows that must be left to score on; a set with fewer is not asked with so many labels."""
MOST_HELD_OUT = 400
_PACKAGED_ROWS = 600
"""Rows of ``movies`` and of ``news``, equally many of each label."""
_HALLUCINATED = frozenset({"invented", "misleading", "speculative"})


class Qags(dspy.Signature):
    """Does the article support the sentence of its summary?"""

    article: str = dspy.InputField()
    sentence: str = dspy.InputField(desc="a sentence of a summary")
    label: Literal["yes", "no"] = dspy.OutputField()


class TopicalChat(dspy.Signature):
    """How good is the response in this dialogue, from 1 (very bad) to 5 (very good)?"""

    history: str = dspy.InputField(desc="the dialogue so far")
    fact: str = dspy.InputField(desc="the fact to be used")
    response: str = dspy.InputField(desc="the response to be scored")
    score: float = dspy.OutputField(ge=1, le=5)


class HumanPreference(dspy.Signature):
    """Which of two outputs do people prefer as an answer to the instruction?"""

    instruction: str = dspy.InputField()
    output_1: str = dspy.InputField()
    output_2: str = dspy.InputField()
    label: Literal["first", "second"] = dspy.OutputField()


class WiceLenient(dspy.Signature):
    """Does the evidence support the claim, at least in part?"""

    evidence: str = dspy.InputField(desc="sentences of the cited web page")
    claim: str = dspy.InputField(desc="a sentence of Wikipedia")
    verdict: Literal["supported", "not_supported"] = dspy.OutputField()


class WiceStrict(dspy.Signature):
    """Does the evidence support all of the claim?"""

    evidence: str = dspy.InputField(desc="sentences of the cited web page")
    claim: str = dspy.InputField(desc="a sentence of Wikipedia")
    verdict: Literal["supported", "not_supported"] = dspy.OutputField()


class SummEdits(dspy.Signature):
    """Is the summary consistent with its document in every detail?"""

    document: str = dspy.InputField(desc="the text that was summarised")
    summary: str = dspy.InputField()
    verdict: Literal["consistent", "inconsistent"] = dspy.OutputField()


class Fect(dspy.Signature):
    """Does the conversation of a contact centre bear out all of the claim?"""

    conversation: str = dspy.InputField()
    claim: str = dspy.InputField(desc="a sentence about the conversation")
    verdict: Literal["factual", "non_factual"] = dspy.OutputField()


class CogniBench(dspy.Signature):
    """Is the sentence of an assistant's answer hallucinated, by the reference that the answer rests on?"""

    reference: str = dspy.InputField()
    question: str = dspy.InputField()
    sentence: str = dspy.InputField(desc="a sentence of the answer")
    verdict: Literal["faithful", "hallucinated"] = dspy.OutputField()


@dataclass(frozen=True, kw_only=True)
class PublicSet:
    """A public set with its judge."""

    judge: jurist.Judge
    read: Callable[[Path], list[Row]]  # takes the folder of the sets, or of the packages
    is_packaged: bool = False  # whether its rows travel in a Python package

    def gold(self, folder: Path) -> jurist.Gold:
        """Return the cases of the set, of which groups of near copies are one group."""
        gold = jurist.Gold.of(self.read(folder), self.judge, self.judge.name)
        joint_group: dict[str, str] = {}
        for copies in gold.near_copies:
            for group in copies.groups:
                joint_group[group] = copies.groups[0]
        cases = tuple(replace(case, group=joint_group.get(case.group, case.group)) for case in gold.cases)
        return replace(gold, cases=cases)


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """The rows of one cell: those whose labels a contender sees, and those that nobody sees before the score."""

    labelled: jurist.Gold
    held_out: tuple[Case, ...]


def draw(gold: jurist.Gold, labels: int, seed: int) -> Drawn | None:
    """Return a split by whole groups, in an order by a hash of seed and group; ``None`` where rows are too few.

    With 100 labels the labelled rows are a part of those with 200, and the rows that are held out are the same.
    """
    sizes = Counter(case.group for case in gold.cases)
    ordered_groups = sorted(sizes, key=lambda group: text_hash(f"{seed}/{group}"))
    labelled_groups = ordered_groups
    groups_seen: set[str] = set()
    for number in sorted(LABELS, reverse=True):
        if len(gold.cases) - number < FEWEST_HELD_OUT:
            continue
        labelled_groups = _groups_within(labelled_groups, sizes, number)
        groups_seen.update(labelled_groups)
        if number == labels:
            break
    else:
        return None
    free_groups = [group for group in ordered_groups if group not in groups_seen]
    held_out_groups = _groups_within(free_groups, sizes, MOST_HELD_OUT)
    labelled = replace(gold, cases=_cases_of(gold, labelled_groups))
    return Drawn(labelled=labelled, held_out=_cases_of(gold, held_out_groups))


def _groups_within(groups: Sequence[str], sizes: Mapping[str, int], most_rows: int) -> list[str]:
    """Return the groups, in their order, that still fit into a number of rows."""
    fitting: list[str] = []
    rows = 0
    for group in groups:
        if rows + sizes[group] <= most_rows:
            fitting.append(group)
            rows += sizes[group]
    return fitting


def _cases_of(gold: jurist.Gold, groups: Sequence[str]) -> tuple[Case, ...]:
    """Return the cases of some groups, in the order of the set."""
    chosen_groups = frozenset(groups)
    return tuple(case for case in gold.cases if case.group in chosen_groups)


def _read_json_lines(folder: Path, place: str) -> list[Row]:
    """Return the rows of a file of JSON lines."""
    lines = (folder / place).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _read_preferences(folder: Path) -> list[Row]:
    """Return pairs of outputs, of which the label names the preferred one by its column."""
    names = {"output_1": "first", "output_2": "second"}
    return [
        {**row, "label": names[row["label"]]} for row in _read_json_lines(folder, "others/humanpref.jsonl")
    ]


def _read_fect(folder: Path) -> list[Row]:
    """Return claims about conversations, as FECT's authors publish them."""
    names = {"TRUE": "factual", "FALSE": "non_factual"}
    rows: list[Row] = []
    with (folder / "fect" / "fect_benchmark.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            group = text_hash(row["conversation"])[:12]
            verdict = names[row["claim_is_factual"].upper()]
            rows.append({**row, "group": group, "verdict": verdict})
    return rows


def _read_cognibench(folder: Path) -> list[Row]:
    """Return the labelled sentences of answers, each a row; irrelevant ones are left out."""
    turns = jurist.Gold.load(folder / "cognibench", jurist.judge("cognibench"))
    rows: list[Row] = []
    for case in turns.cases:
        question = case.row["question"]
        for sentence, label in zip(case.inputs["sentences"], case.gold or (), strict=True):
            if label is None or label == "irrelevant":
                continue
            verdict = "hallucinated" if label in _HALLUCINATED else "faithful"
            row = {"reference": case.inputs["reference"], "question": question, "sentence": sentence}
            rows.append({**row, "verdict": verdict, "group": case.group})
    return rows


def _packaged_set(task: str) -> PublicSet:
    """Return a set whose rows travel in a Python package, as ``real_model.py`` reads it."""
    read, judge, field = TASKS[task]

    def read_sample(packages: Path) -> list[Row]:
        rows: list[Row] = sampled(read(packages), field, _PACKAGED_ROWS, 0)
        return rows

    return PublicSet(judge=judge, read=read_sample, is_packaged=True)


def _labels_judge(name: str, signature: type[dspy.Signature], positive: str) -> jurist.Judge:
    """Return a judge of two labels, scored by balanced accuracy."""
    return jurist.Judge(name=name, signature=signature, positive=positive, metric="balanced_accuracy")


SETS: Mapping[str, PublicSet] = {
    "qags": PublicSet(
        judge=_labels_judge("qags", Qags, "no"),
        read=partial(_read_json_lines, place="others/qags.jsonl"),
    ),
    "topicalchat": PublicSet(
        judge=jurist.Judge(name="topicalchat", signature=TopicalChat),
        read=partial(_read_json_lines, place="others/topicalchat.jsonl"),
    ),
    "humanpref": PublicSet(
        judge=jurist.Judge(
            name="humanpref",
            signature=HumanPreference,
            answer=jurist.Preference(first="output_1", second="output_2"),
        ),
        read=_read_preferences,
    ),
    "wice-lenient": PublicSet(
        judge=_labels_judge("wice-lenient", WiceLenient, "not_supported"),
        read=partial(_read_json_lines, place="wice/lenient.jsonl"),
    ),
    "wice-strict": PublicSet(
        judge=_labels_judge("wice-strict", WiceStrict, "not_supported"),
        read=partial(_read_json_lines, place="wice/strict.jsonl"),
    ),
    "summedits": PublicSet(
        judge=_labels_judge("summedits", SummEdits, "inconsistent"),
        read=partial(_read_json_lines, place="summedits/summedits.jsonl"),
    ),
    "fect": PublicSet(judge=_labels_judge("fect-claims", Fect, "non_factual"), read=_read_fect),
    "cognibench": PublicSet(
        judge=_labels_judge("cognibench-sentences", CogniBench, "hallucinated"), read=_read_cognibench
    ),
    "movies": _packaged_set("movies"),
    "news": _packaged_set("news"),
}
"""Name -> set."""
