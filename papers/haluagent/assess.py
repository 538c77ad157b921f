"""How often models hallucinate on a benchmark (C-FAITH section 4): they answer zero-shot, in each of the formats.

Whether a free reply conflicts with the correct answer is for ``qa-conflict`` to judge; letters and truth values are
read from the reply by rules, and a reply that holds none, or names several options and settles on none, is counted as
unanswered. The judge's own errors, measured on gold that it was not compiled on, are taken out of the rate of
generative items.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from ...cases import Case
from ...errors import UsageError
from ...evaluation.prevalence import Tallies, tallies
from ...jobs.assessing import Calibrated, CalibratedModels, Replies, verdicts
from ...keeping.loading import LoadedJudge
from ...programs.answering import answering
from ...programs.haluagent.judges import QA_CONFLICT
from ...programs.verdicts import Verdict
from ...signatures.haluagent import AnswerQuestion
from ...text.measures import letters
from .items import Choice, Generative, Item, TrueFalse, choice_prompt
from .rates import Found, Rates, rates

ANSWERING: Final = answering("answering", AnswerQuestion)
"""Replies of the models, zero-shot (section 4.2)."""
Letter = Literal["A", "B", "C", "D"]
_STATED: Final = re.compile(
    r"(?:(?:answer|option|choice)(?: is| would be|:| =)++|i (?:choose|pick|select)"
    r"|答案(?:是|为|应为|应该是|:)*+|(?:应)?选择?|正确(?:的)?选项(?:是|为|:)*+)"
    r"[\s:*_\"'“(\[【（]*+(?:(?:option |choice |选项)[*_\"'“(\[【（]*+)?(?P<said>[a-d])(?![a-z0-9'’])",
    re.IGNORECASE,
)
_ALONE: Final = re.compile(
    r"[\s*_\"'“(\[【（]*+(?:(?:option |choice |选项)[*_(]*+)?(?P<said>[a-d])[\s*_\"'”)\]】）.。:、,]*$",
    re.IGNORECASE,
)
_LEADING: Final = re.compile(
    r"[\s*_(\[【（]*(?P<said>[A-D])[\s*_]*[)\]】）.。:、,][*_]*\s*(?P<rest>.*)", re.DOTALL
)
_CAPITAL: Final = re.compile(r"(?<![A-Za-z0-9])[A-D](?![A-Za-z0-9'’])")
_TRUE: Final = r"true|correct|right|yes|正确|对的?|是的?|属实"
_FALSE: Final = (
    r"false|incorrect|wrong|no|untrue|(?:not|isn['’]t) (?:true|correct|right)"
    r"|不正确|错误?的?|不对|不是|不属实|否"
)
_TRUTH: Final = re.compile(
    rf"(?:(?<![a-z])(?P<no>{_FALSE})(?![a-z]))|(?:(?<![a-z不])(?P<yes>{_TRUE})(?![a-z]))", re.IGNORECASE
)
_TRUTH_STATED: Final = re.compile(
    rf"(?:(?:answer|verdict|(?<![a-z])judg[a-z]+|statement|response|it)(?: is| would be|:)++[\s:*_\"'“(]*+"
    rf"|(?:答案|判断)[是为\s:*_\"'“(]*)(?:(?P<no>{_FALSE})|(?P<yes>{_TRUE}))(?![a-z])",
    re.IGNORECASE,
)
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
class ItemAssessment(CalibratedModels[Assessed]):
    """Who is assessed on what; the judge is ``qa-conflict`` or a version of it."""

    answering = ANSWERING
    unit = "items"
    items: tuple[Item, ...]  # the benchmark

    def __post_init__(self) -> None:
        """Refuse what assesses nothing."""
        super().__post_init__()
        check_compares(self.judge)

    @property
    def to_judge(self) -> int:
        """How many items have free replies; those of the others are read by rules."""
        return sum(isinstance(item, Generative) for item in self.items)

    @property
    def asked(self) -> list[Case]:
        """What every model is asked, item by item."""
        return [
            Case(inputs={"prompt": prompt_of(item)}, group=item.group or item.id, draw=place)
            for place, item in enumerate(self.items)
        ]

    @property
    def settings(self) -> dict[str, Any]:
        """What else makes this the same job when it is started again, as JSON values."""
        return {**super().settings, "items": [item.id for item in self.items]}

    def judged(
        self, model: str, said: Replies, judge: LoadedJudge, known: Calibrated, on_step: Callable[[], None]
    ) -> Assessed:
        """Return one model's rates; that of generative items is corrected by the judge's errors on gold."""
        cases = [
            _case(item, text, place) if isinstance(item, Generative) and text and not failed else None
            for place, (item, (text, failed)) in enumerate(zip(self.items, said, strict=True))
        ]
        found = tuple(
            _found(item, text, failed, verdict)
            for item, (text, failed), verdict in zip(
                self.items, said, verdicts(judge, cases, on_step), strict=True
            )
        )
        return Assessed(
            model=model,
            replies=tuple(text for text, _ in said),
            found=found,
            rates=rates(found, calibration=_known(known)),
        )


def prompt_of(item: Item) -> str:
    """Return what a model is asked about an item."""
    if isinstance(item, Choice):
        return choice_prompt(item)
    if isinstance(item, TrueFalse):
        return _TRUTH_PROMPT[item.language == "zh"].format(question=item.question, answer=item.answer)
    return item.question


def _known(calibrated: Calibrated) -> tuple[Tallies, Tallies]:
    """Return how often the judge was right on gold, by group: of conflicts, and of replies that agree."""
    told = [
        (case.group, (case.gold or (None,))[0], verdict.value)
        for case, verdict in calibrated
        if verdict.value is not None
    ]
    conflicts, others = (
        tallies((group, said == truth) for group, truth, said in told if (truth == _CONFLICT) is positive)
        for positive in (True, False)
    )
    return conflicts, others


def _case(item: Generative, reply: str, place: int) -> Case:
    asked = {"question": item.question, "correct_answer": item.correct_answer, "response": reply}
    return Case(inputs=asked, group=item.group or item.id, draw=place)


def _found(item: Item, reply: str, failed: bool, verdict: Verdict | None) -> Found:
    if failed or (verdict is not None and verdict.status == "failed"):
        return Found(item, None, failed=True)
    if isinstance(item, Choice):
        letter = read_choice(reply, item.options)
        return Found(item, None if letter is None else letter != item.correct)
    if isinstance(item, TrueFalse):
        truth = read_truth(reply)
        return Found(item, None if truth is None else truth != item.correct)
    said = verdict.value if verdict else None
    return Found(item, None if said is None else said == _CONFLICT)


def read_choice(reply: str, options: Sequence[str]) -> Letter | None:
    """Return the letter that a reply chooses, or ``None``.

    A reply counts if it names exactly one option, by its letter or by its words. Where it argues first, what it states
    as its answer counts ("the answer is B", 答案是B), else its last line if that is one option alone.
    """
    text = unicodedata.normalize("NFKC", reply).strip()
    stated = {match["said"].upper() for match in _STATED.finditer(text)}
    if stated:
        return _only(stated)
    for line in (text, _last(text)):
        alone = _ALONE.match(line)
        if alone:
            return _only({alone["said"].upper()})
    leading = _LEADING.match(text)
    if leading and not _CAPITAL.search(leading["rest"].replace(leading["said"], "")):
        return _only({leading["said"]})
    plain = letters(text)
    quoted = {
        letter
        for letter, option in zip("ABCD", map(letters, options), strict=True)
        if option and option in plain
    }
    if quoted:
        return _only(quoted)
    # A few words about a letter; in a longer text an A may be an article.
    return _only(set(_CAPITAL.findall(text))) if len(re.sub(r"\W+", "", text)) <= 12 else None


def read_truth(reply: str) -> bool | None:
    """Return whether a reply calls the answer correct, or ``None``."""
    text = unicodedata.normalize("NFKC", reply).strip()
    for found in (_truths(_TRUTH_STATED, text), _truths(_TRUTH, text), _truths(_TRUTH, _last(text))):
        if len(found) == 1:
            return next(iter(found))
    return None


def _truths(pattern: re.Pattern[str], text: str) -> set[bool]:
    return {match["yes"] is not None for match in pattern.finditer(text)}


def _last(text: str) -> str:
    return text.splitlines()[-1] if text else ""


def _only(found: set[str]) -> Letter | None:
    letter = next(iter(found), None)
    return letter if len(found) == 1 and letter in ("A", "B", "C", "D") else None  # type: ignore[return-value]
