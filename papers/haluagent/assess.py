"""How often models hallucinate on a benchmark (C-FAITH section 4): they answer zero-shot, in each of the formats.

Whether a free reply conflicts with the correct answer is for ``qa-conflict`` to judge. Of a closed question the answer
is what the whole reply, its first sentence or its last line says and nothing else: prompts ask for it alone, and what
is hedged, denied or explained in other words is never taken for one. Such a reply is unanswered: it is in no rate, or
counts as hallucinated, which is what the paper does. The rate of a format is the share of its answered items on which
the model hallucinated; overall is the mean of the formats, as section 4.2 says. A false negative takes a hallucinated
answer for correct, a false positive the correct one for hallucinated. Intervals leave out documents. The judge's own
errors, measured on gold that it was not compiled on, are taken out of the rate of generative items.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, TypeVar

import numpy as np

from ...cases import Case
from ...errors import UsageError
from ...evaluation.intervals import Cell, Share, breakdown, over_groups
from ...evaluation.metrics import Ratios, mean_parts
from ...evaluation.plain import plain_fields
from ...evaluation.prevalence import Prevalence, Tallies, prevalence, tallies
from ...jobs.assessing import Assessment, Calibrated, Replies, View, judge_cases
from ...keeping.loading import LoadedJudge
from ...programs.generator import make_answerer
from ...programs.haluagent.judges import QA_CONFLICT
from ...programs.verdicts import Verdict
from ...report.table import Table, table
from ...signatures.haluagent import TYPES, AnswerQuestion
from ...text.ranking import letters
from .items import FORMATS, Choice, Generative, Item, TrueFalse, choice_prompt

Unanswered: TypeAlias = Literal["apart", "wrong"]
"""A reply without an answer is in no rate, or is a hallucinated one."""


@dataclass(frozen=True)
class Found:
    """A model's result on an item: whether it hallucinated, ``None`` without an answer; ``failed`` if not reached."""

    item: Item
    hallucinated: bool | None
    failed: bool = False

    @property
    def group(self) -> str:
        """The document."""
        return self.item.group or self.item.id


@dataclass(frozen=True, kw_only=True)
class Rates:
    """The rates of one model."""

    formats: Mapping[str, Share]  # of each format that there is
    overall: tuple[float, float, float] | None  # (value, low, high): the mean of the formats
    types: Mapping[str, Share]  # of generative items by their type
    errors: Mapping[str, Share]  # ``false_negative`` and ``false_positive`` of true-or-false items
    # the rate of generative items without the errors of the judge; ``None`` without a calibration
    corrected: Prevalence | None
    unanswered: Mapping[str, int]  # format -> items without an answer
    failed: int  # items that the model was not reached for

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        overall = self.overall and dict(zip(("value", "low", "high"), self.overall, strict=True))
        return {**plain_fields(self), "overall": overall}


def rates(
    answers: Sequence[Found],
    *,
    calibration: tuple[Tallies, Tallies] | None = None,
    unanswered: Unanswered = "apart",
) -> Rates:
    """Return the rates of one model."""
    silent = Counter(one.item.format for one in answers if one.hallucinated is None and not one.failed)
    if unanswered == "wrong":
        answers = [
            replace(one, hallucinated=True) if one.hallucinated is None and not one.failed else one
            for one in answers
        ]
    answered = [one for one in answers if one.hallucinated is not None]
    free = [(one.group, bool(one.hallucinated)) for one in answered if one.item.format == "generative"]
    tables = breakdown(_cells(answered))

    def columns(table: str, names: Sequence[str]) -> dict[str, Share]:
        row = tables.get(table, {})
        return {name: row[name] for name in names if name in row}

    return Rates(
        formats=columns("formats", FORMATS),
        overall=_overall(answered) if answered else None,
        types=columns("types", TYPES),
        errors=columns("errors", ("false_negative", "false_positive")),
        corrected=prevalence(tallies(free), *calibration) if calibration and free else None,
        unanswered={name: silent[name] for name in FORMATS},
        failed=sum(one.failed for one in answers),
    )


def _cells(answered: Iterable[Found]) -> Iterator[Cell[str, str]]:
    """Yield every answer in the table of formats, and in that of the types or of the errors of its format."""
    for one in answered:
        wrong, item = float(bool(one.hallucinated)), one.item
        yield one.group, "formats", item.format, wrong, 1.0
        if isinstance(item, TrueFalse):
            yield one.group, "errors", "false_positive" if item.correct else "false_negative", wrong, 1.0
        elif item.format == "generative":
            yield one.group, "types", item.type, wrong, 1.0


def _overall(answered: Sequence[Found]) -> tuple[float, float, float]:
    """Return the mean of the formats' rates with its interval, without the same documents each time."""
    places = {group: place for place, group in enumerate(sorted({one.group for one in answered}))}
    table = np.zeros((len(places), len(FORMATS), 2))
    for one in answered:
        table[places[one.group], FORMATS.index(one.item.format)] += (float(bool(one.hallucinated)), 1.0)

    rate = over_groups(table, Ratios(lambda sums: mean_parts(sums[..., 0], sums[..., 1])))
    ends = rate.within(0.0, 1.0)
    return rate.value, ends.low, ends.high


ANSWERING: Final = make_answerer("answering", AnswerQuestion)
"""Replies of the models, zero-shot (section 4.2)."""
_CONFLICT: Final = "conflict"
_TRUTH_PROMPT: Final = {
    True: "问题：{question}\n答案：{answer}\n这个答案正确吗？只回答“正确”或“错误”。",
    False: "Question: {question}\nAnswer: {answer}\nIs this answer correct? Reply with true or false only.",
}


def check_compares(judge: LoadedJudge) -> None:
    """Refuse a judge of something else."""
    if set(judge.judge.input_fields) != set(QA_CONFLICT.input_fields):
        raise UsageError(
            f"judge {judge.judge.name} does not compare a reply with the correct answer",
            hint="use qa-conflict or one of its versions",
        )


@dataclass(frozen=True, kw_only=True)
class Assessed:
    """One model's result: its name, what it replied to each item, what was found in it, and the rates."""

    model: str
    replies: tuple[str, ...]
    found: tuple[Found, ...]
    rates: Rates

    @property
    def failed(self) -> int:
        """Items that the model or the judge was not reached for."""
        return self.rates.failed

    @property
    def unusable(self) -> float:
        """The share of items without an answer, 0 to 1."""
        return sum(one.hallucinated is None for one in self.found) / len(self.found)

    def to_json(self) -> dict[str, Any]:
        """Return the rates as plain JSON types."""
        return {"model": self.model, "items": len(self.found), **self.rates.to_json()}


@dataclass(frozen=True, kw_only=True)
class ItemAssessment(Assessment):
    """Who is assessed on what; the judge is ``qa-conflict`` or a version of it."""

    answering = ANSWERING
    unit = "items"
    items: tuple[Item, ...]  # the benchmark
    unanswered: Unanswered = "apart"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_compares(self.judge)

    @property
    def to_judge(self) -> int:
        """How many items have free replies; those of the others are read by rules."""
        return sum(isinstance(item, Generative) for item in self.items)

    @property
    def asked(self) -> list[Case]:
        return [
            Case(inputs={"prompt": prompt_of(item)}, group=item.group or item.id, draw=place)
            for place, item in enumerate(self.items)
        ]

    @property
    def settings(self) -> dict[str, Any]:
        return {**super().settings, "items": [item.id for item in self.items]}

    def judged(
        self,
        model: str,
        replies: Replies,
        judge: LoadedJudge,
        calibrated: Calibrated,
        on_step: Callable[[], None],
    ) -> Assessed:
        """Return one model's rates; that of generative items is corrected by the judge's errors on gold."""
        cases: list[Case | None] = []
        for place, (item, (text, failed)) in enumerate(zip(self.items, replies, strict=True)):
            asked = None
            if isinstance(item, Generative) and text and not failed:
                about = {"question": item.question, "correct_answer": item.correct_answer, "response": text}
                asked = Case(inputs=about, group=item.group or item.id, draw=place)
            cases.append(asked)
        judged = zip(self.items, replies, judge_cases(judge, cases, on_step), strict=True)
        answers = tuple(_found(item, text, failed, verdict) for item, (text, failed), verdict in judged)
        counted = rates(answers, calibration=_known(calibrated), unanswered=self.unanswered)
        return Assessed(model=model, replies=tuple(text for text, _ in replies), found=answers, rates=counted)

    def view(self, results: list[Assessed]) -> View:
        assert self.calibration is not None
        data = {
            "benchmark": self.benchmark,
            "items": len(self.items),
            "calibration": {"gold": self.calibration.name, "rows": len(self.held_out)},
            "models": [one.to_json() for one in results],
        }
        answers = (
            {
                "model": one.model,
                "id": result.item.id,
                "format": result.item.format,
                "reply": reply,
                "hallucinated": result.hallucinated,
                "failed": result.failed,
            }
            for one in results
            for reply, result in zip(one.replies, one.found, strict=True)
        )
        body: list[Table | str] = [
            _formats(results, self.unanswered),
            *_shares("by type, generative items (C-FAITH Table 6)", TYPES, results, "types"),
            *_shares(
                "true-or-false items (Figure 5): hallucinated taken for correct, correct taken for hallucinated",
                ("false_negative", "false_positive"),
                results,
                "errors",
            ),
            *(
                f"{one.model}: generative, without the judge's errors: {one.rates.corrected}"
                + (f" ({one.rates.corrected.problem})" if one.rates.corrected.problem else "")
                for one in results
                if one.rates.corrected
            ),
            self.judge_words,
        ]
        return data, answers, body


_COUNTED_AS: Final[Mapping[Unanswered, str]] = {
    "apart": "unanswered replies left out",
    "wrong": "unanswered replies count as hallucinated",
}


def _formats(results: Sequence[Assessed], unanswered: Unanswered) -> Table:
    rows = []
    for result in results:
        overall = result.rates.overall
        mean = "-" if overall is None else "{:.3f} [{:.3f}, {:.3f}]".format(*overall)
        cells = [result.rates.formats.get(name, "-") for name in FORMATS]
        rows.append([result.model, *cells, mean, sum(result.rates.unanswered.values()), result.failed])
    return table(
        f"hallucination rates [95 % interval] (C-FAITH Table 5), {_COUNTED_AS[unanswered]}",
        ("model", *FORMATS, "overall", "unanswered", "failed"),
        rows,
    )


def _shares(title: str, names: Sequence[str], results: Sequence[Assessed], which: str) -> list[Table]:
    """Return a table of shares; none where the benchmark has no item that it is about."""
    if not any(getattr(one.rates, which) for one in results):
        return []
    rows = [[one.model, *(getattr(one.rates, which).get(name, "-") for name in names)] for one in results]
    return [table(title, ("model", *(name.replace("_", " ") for name in names)), rows)]


def prompt_of(item: Item) -> str:
    """Return the prompt about an item."""
    if isinstance(item, Choice):
        return choice_prompt(item)
    if isinstance(item, TrueFalse):
        return _TRUTH_PROMPT[item.language == "zh"].format(question=item.question, answer=item.answer)
    return item.question


def _known(calibrated: Calibrated) -> tuple[Tallies, Tallies]:
    """Return the shares in which the judge was right on gold, by group: of conflicts, and of replies that agree."""
    answered = [
        (case, verdict.value) for case, verdict in calibrated if case.gold and verdict.value is not None
    ]
    conflicts, others = (
        tallies(
            (case.group, label == case.gold[0])
            for case, label in answered
            if case.gold and (case.gold[0] == _CONFLICT) is positive
        )
        for positive in (True, False)
    )
    return conflicts, others


def _found(item: Item, reply: str, failed: bool, verdict: Verdict | None) -> Found:
    if failed or (verdict is not None and verdict.status == "failed"):
        return Found(item, None, failed=True)
    if isinstance(item, Choice):
        letter = read_choice(reply, item.options)
        return Found(item, None if letter is None else letter != item.correct)
    if isinstance(item, TrueFalse):
        truth = read_truth(reply)
        return Found(item, None if truth is None else truth != item.correct)
    label = verdict.value if verdict else None
    return Found(item, None if label is None else label == _CONFLICT)


Letter: TypeAlias = Literal["A", "B", "C", "D"]
T = TypeVar("T")

_MARKS: Final = re.compile(r"[*_\"“”'‘()\[\]{}【】「」《》`]")
_LEAD: Final = (
    r"(?:i (?:think|believe|choose|pick) |so |therefore )?"
    r"(?:(?:the |my |this )?(?:final |correct |right |given )?(?:answer|option|choice|verdict|judge?ment|statement)"
    r"(?: is|:)? ?|(?:it|this|that) ?i?s |option |"
    "选择?|(?:这个|该)?(?:答案|判断|结论|选项)(?:应该)?(?:是|为)?:?|这是?|应该选)?"
)
_TRUE: Final = re.compile(
    rf"{_LEAD}(?:true|correct|right|accurate|yes|yes, it is|正确的?|对的?|是的?|属实|准确|没错)"
)
_FALSE: Final = re.compile(
    rf"{_LEAD}(?:false|incorrect|wrong|untrue|inaccurate|no|no, it is not|not (?:true|correct|right|accurate)"
    "|错误的?|错的?|不正确的?|不对的?|不是|否|不属实|有误)"
)
_CHOICE: Final = re.compile(rf"{_LEAD}([a-d])(?:[.):、,] ?|$)(.*)")
_END: Final = re.compile(r"(?<=[.!?。！？\n])\s*")


def read_truth(reply: str) -> bool | None:
    """Return whether a reply calls the answer correct, or ``None``."""

    def truth(text: str) -> bool | None:
        return True if _TRUE.fullmatch(text) else False if _FALSE.fullmatch(text) else None

    return _agreed(reply, truth)


def read_choice(reply: str, options: Sequence[str]) -> Letter | None:
    """Return the letter of the one option that a reply chooses, by its letter or by its words, or ``None``."""
    words = [letters(option) for option in options]

    def letter(text: str) -> Letter | None:
        found: Any = _CHOICE.fullmatch(text)
        named = found and found[1].upper()
        if named and letters(found[2]) in ("", words["ABCD".index(named)]):
            return named  # type: ignore[no-any-return]
        same: list[Any] = [
            name for name, option in zip("ABCD", words, strict=True) if option == letters(text)
        ]
        return same[0] if len(same) == 1 else None

    whole = _CHOICE.fullmatch(next(_texts(reply), ""))
    if whole and letters(whole[2]) in words and not letter(whole[0]):  # another option's words
        return None
    return _agreed(reply, letter)


def _agreed(reply: str, read: Callable[[str], T | None]) -> T | None:
    """Return the answer of a whole reply, or else of its first sentence and its last line, if these do not differ."""
    texts = list(_texts(reply))
    if not texts or texts[0].endswith("?"):
        return None
    whole, *ends = (read(text.rstrip(" .!。！")) for text in texts)
    ends_read = {end for end in ends if end is not None}
    return whole if whole is not None else ends_read.pop() if len(ends_read) == 1 else None


def _texts(reply: str) -> Iterator[str]:
    """Yield a reply, its first sentence and its last line, in one form of each character and without emphasis."""
    text = _MARKS.sub("", unicodedata.normalize("NFKC", reply)).strip().lower()
    if text:
        yield text
        yield _END.split(text, maxsplit=1)[0].strip()
        yield text.splitlines()[-1].strip()
