"""The share of hallucinations of models on a benchmark (C-FAITH section 4): they answer zero-shot, in each format.

Whether a free reply conflicts with the correct answer is for ``qa-conflict`` to judge. Of a closed question the answer
is what the whole reply, its first sentence or its last line says and nothing else: prompts ask for it alone, and what
is hedged, denied or explained in other words is never taken for one. Such a reply is unanswered: it is in no rate, or
counts as hallucinated, which is what the paper does. The rate of a format is the share of its answered items on which
the model hallucinated; overall is the mean of the formats, as section 4.2 says. A false negative takes a hallucinated
answer for correct, a false positive the correct one for hallucinated. Intervals leave out documents. The judge's own
errors, measured on gold that it was not compiled on, are taken out of the rate of generative items.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from ...cases import Case
from ...errors import UsageError, plural
from ...evaluation.intervals import Cell, Share, breakdown, over_groups
from ...evaluation.metrics import Ratios, mean_parts
from ...evaluation.plain import plain_fields
from ...evaluation.prevalence import Prevalence, Tallies, prevalence, tallies
from ...gold.rejects import Rejects
from ...gold.sources import OnBad, layouts
from ...jobs.assessing import (
    Assessment,
    AssessmentRequest,
    BenchmarkKind,
    Calibrated,
    Replies,
    Unanswered,
    View,
    figure_record,
    judge_cases,
)
from ...keeping.loading import LoadedJudge
from ...programs.generator import make_answerer
from ...programs.haluagent.judges import QA_CONFLICT
from ...programs.verdicts import Verdict
from ...report.table import Table, table
from ...signatures.haluagent import AnswerQuestion
from ...signatures.haluagent_labels import TYPES
from .items import FORMATS, Choice, Generative, Item, TrueFalse, choice_prompt, read_authors, read_items
from .reading import read_choice, read_truth

_ERRORS: Final = ("false_negative", "false_positive")


@dataclass(frozen=True)
class ItemResult:
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

    def to_json(self) -> dict[str, object]:
        """Return everything as plain JSON types."""
        overall = None
        if self.overall:
            value, low, high = self.overall
            overall = {"value": value, "low": low, "high": high}
        return {**plain_fields(self), "overall": overall}


def rates(
    results: Sequence[ItemResult],
    *,
    calibration: tuple[Tallies, Tallies] | None = None,
    unanswered: Unanswered = "apart",
) -> Rates:
    """Return the rates of one model."""
    silent: Counter[str] = Counter()
    answered, free, failed = [], [], 0
    for result in results:
        if result.failed:
            failed += 1
        elif result.hallucinated is None:
            silent[result.item.format] += 1
            if unanswered == "wrong":
                result = replace(result, hallucinated=True)
        if result.hallucinated is None:
            continue
        answered.append(result)
        if result.item.format == "generative":
            free.append((result.group, result.hallucinated))
    tables = breakdown(_cells(answered))
    overall, corrected = None, None
    if answered:
        overall = _overall(answered)
    if calibration and free:
        corrected = prevalence(tallies(free), *calibration)
    return Rates(
        formats=_select_shares(tables.get("formats", {}), FORMATS),
        overall=overall,
        types=_select_shares(tables.get("types", {}), TYPES),
        errors=_select_shares(tables.get("errors", {}), _ERRORS),
        corrected=corrected,
        unanswered={name: silent[name] for name in FORMATS},
        failed=failed,
    )


def _select_shares(shares: Mapping[str, Share], names: Sequence[str]) -> dict[str, Share]:
    """Return the shares with these names that there are, in the order of the names."""
    return {name: shares[name] for name in names if name in shares}


def _cells(answered: Iterable[ItemResult]) -> Iterator[Cell[str, str]]:
    """Yield every answer in the table of formats, and in that of the types or of the errors of its format."""
    for result in answered:
        hallucinated, item = float(bool(result.hallucinated)), result.item
        yield result.group, "formats", item.format, hallucinated, 1.0
        if isinstance(item, TrueFalse):
            error = "false_positive" if item.correct else "false_negative"
            yield result.group, "errors", error, hallucinated, 1.0
        elif item.format == "generative":
            yield result.group, "types", item.type, hallucinated, 1.0


def _overall(answered: Sequence[ItemResult]) -> tuple[float, float, float]:
    """Return the mean of the formats' rates with its interval, without the same documents each time."""
    groups = sorted({result.group for result in answered})
    table = np.zeros((len(groups), len(FORMATS), 2))  # (groups, formats, 2): hallucinated, and of how many
    for result in answered:
        cell = bisect_left(groups, result.group), FORMATS.index(result.item.format)
        table[cell] += (float(bool(result.hallucinated)), 1.0)
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


def check_conflict_judge(judge: LoadedJudge) -> None:
    """Refuse a judge that does not compare a reply with the correct answer."""
    if set(judge.judge.input_fields) != set(QA_CONFLICT.input_fields):
        raise UsageError(
            f"judge {judge.judge.name} does not compare a reply with the correct answer",
            hint="use qa-conflict or one of its versions",
        )


@dataclass(frozen=True, kw_only=True)
class Assessed:
    """One model's result: its name, its reply to each item, the results of the items, and the rates."""

    model: str
    replies: tuple[str, ...]
    results: tuple[ItemResult, ...]
    rates: Rates

    @property
    def failed(self) -> int:
        """Items that the model or the judge was not reached for."""
        return self.rates.failed

    @property
    def unusable(self) -> float:
        """The share of items without an answer, 0 to 1."""
        unanswered = [result for result in self.results if result.hallucinated is None]
        return len(unanswered) / len(self.results)

    def to_json(self) -> dict[str, object]:
        """Return the rates as plain JSON types."""
        return {"model": self.model, "items": len(self.results), **self.rates.to_json()}


@dataclass(frozen=True, kw_only=True)
class ItemAssessment(Assessment):
    """An assessment of models on items; its judge is ``qa-conflict`` or a version of it."""

    answering = ANSWERING
    unit = "items"
    items: tuple[Item, ...]  # the benchmark
    unanswered: Unanswered = "apart"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_conflict_judge(self.judge)

    @property
    def judged_count(self) -> int:
        """The number of items with free replies; closed replies are read by rules."""
        return len([item for item in self.items if isinstance(item, Generative)])

    @property
    def question_cases(self) -> list[Case]:
        cases = []
        for place, item in enumerate(self.items):
            inputs = {"prompt": item_prompt(item)}
            cases.append(Case(inputs=inputs, group=item.group or item.id, draw=place))
        return cases

    @property
    def settings(self) -> dict[str, object]:
        return {**super().settings, "items": [item.id for item in self.items]}

    def model_result(
        self,
        model: str,
        replies: Replies,
        judge: LoadedJudge,
        calibrated: Calibrated,
        on_step: Callable[[], None],
    ) -> Assessed:
        """Return one model's rates; that of generative items is corrected by the judge's errors on gold."""
        cases = []
        for place, (item, (text, failed)) in enumerate(zip(self.items, replies, strict=True)):
            cases.append(_case_to_judge(item, place, "" if failed else text))
        verdicts = judge_cases(judge, cases, on_step)
        results = []
        for item, (text, failed), verdict in zip(self.items, replies, verdicts, strict=True):
            results.append(_item_result(item, text, failed, verdict))
        model_rates = rates(results, calibration=_judge_tallies(calibrated), unanswered=self.unanswered)
        texts = tuple(text for text, _ in replies)
        return Assessed(model=model, replies=texts, results=tuple(results), rates=model_rates)

    def view(self, results: list[Assessed]) -> View:
        assert self.calibration is not None
        data = {
            "benchmark": self.benchmark,
            "items": len(self.items),
            "calibration": {"gold": self.calibration.name, "rows": len(self.held_out)},
            "models": [model.to_json() for model in results],
        }
        body: list[Table | str] = [_format_table(results, self.unanswered)]
        shares_of_types, shares_of_errors, corrections = {}, {}, []
        for model in results:
            shares_of_types[model.model] = model.rates.types
            shares_of_errors[model.model] = model.rates.errors
            if model.rates.corrected:
                corrections.append(_correction_line(model.model, model.rates.corrected))
        body += _share_tables("by type, generative items (C-FAITH Table 6)", TYPES, shares_of_types)
        body += _share_tables(
            "true-or-false items (Figure 5): hallucinated taken for correct, correct taken for hallucinated",
            _ERRORS,
            shares_of_errors,
        )
        body += corrections
        unanswered_replies = list(_unanswered_replies(results))
        data["unanswered_replies"] = unanswered_replies
        if unanswered_replies:
            body.append(_unanswered_table(unanswered_replies))
        body.append(self.judge_words)
        return data, _answer_lines(results), body

    def figures(self, results: list[Assessed]) -> list[dict[str, object]]:
        records = []
        for result in results:
            name, rates_of_model = result.model, result.rates
            for format_name, share in rates_of_model.formats.items():
                corrected = rates_of_model.corrected if format_name == "generative" else None
                records.append(figure_record(name, "formats", format_name, share, corrected))
            if rates_of_model.overall is not None:
                value, low, high = rates_of_model.overall
                overall = {"value": value, "low": low, "high": high, "of": len(result.results)}
                records.append({**figure_record(name, "formats", "overall", None), **overall})
            for type_name, share in rates_of_model.types.items():
                records.append(figure_record(name, "types", type_name, share))
            for error_name, share in rates_of_model.errors.items():
                records.append(figure_record(name, "errors", error_name, share))
        return records


def _plan(request: AssessmentRequest) -> ItemAssessment:
    """Return the assessment on the items of a request; rows that are none go to its rejects."""
    is_own = any(columns >= _OWN_COLUMNS for columns in layouts(request.benchmark))
    items = _usable_items(request, read_items if is_own else read_authors)
    judge = request.load_judge(QA_CONFLICT.name).for_texts(item.question for item in items)
    check_conflict_judge(judge)  # before its gold is read as the calibration
    return ItemAssessment(
        items=items[: request.limit],
        unanswered=request.unanswered,
        **request.assessment_arguments(judge, QA_CONFLICT.bundled, temperature=1.0, top_p=0.7),
    )


def _usable_items(
    request: AssessmentRequest, read_rows_of: Callable[[str, OnBad], tuple[Item, ...]]
) -> tuple[Item, ...]:
    """Return the items of a benchmark; where the request has rejects, the rows that are none are set aside."""
    rejects = Rejects() if request.rejects is None else request.rejects
    rejects.check_apart(request.benchmark)
    with rejects:
        items = read_rows_of(request.benchmark, rejects.add)
        refusal = rejects.refusal()
        if refusal is not None and (request.rejects is None or not items):
            raise refusal
    if rejects.count:
        rows = plural(rejects.count, "row")
        request.surface.note(f"{rows} of {request.benchmark} without an item, set aside in {rejects.path}")
    return items


_OWN_COLUMNS: Final = {"id", "format"}


def _has_items(columns: Set[str]) -> bool:
    """Say whether a row has the columns of an item, ours or the authors'."""
    is_authors = "question" in columns and not columns.isdisjoint({"halu_type", "correct_option"})
    return columns >= _OWN_COLUMNS or is_authors


KIND: Final = BenchmarkKind(
    recognises=_has_items,
    plan=_plan,
    options=frozenset({"calibration", "unanswered", "rejects"}),
)
"""Items in three formats."""


def _case_to_judge(item: Item, place: int, text: str) -> Case | None:
    """Return the case of a free reply; ``None`` for no reply, and for one that is read by rules."""
    if not (isinstance(item, Generative) and text):
        return None
    inputs = {"question": item.question, "correct_answer": item.correct_answer, "response": text}
    return Case(inputs=inputs, group=item.group or item.id, draw=place)


def _answer_lines(models: Iterable[Assessed]) -> Iterator[dict[str, object]]:
    """Yield a line for the reply of each model to each item."""
    for model in models:
        for reply, result in zip(model.replies, model.results, strict=True):
            yield {
                "model": model.model,
                "id": result.item.id,
                "format": result.item.format,
                "reply": reply,
                "hallucinated": result.hallucinated,
                "failed": result.failed,
            }


_SHOWN_REPLIES: Final = 5
"""Replies without an answer that a table shows; all of them stand in the JSON object."""
_SHOWN_CHARACTERS: Final = 200


def _unanswered_replies(models: Iterable[Assessed]) -> Iterator[dict[str, str]]:
    """Yield each reply to a closed question in which no answer was read, with its model and its item."""
    for line in _answer_lines(models):
        if line["hallucinated"] is None and not line["failed"] and line["format"] != "generative":
            yield {name: str(line[name]) for name in ("model", "id", "format", "reply")}


def _unanswered_table(replies: Sequence[Mapping[str, str]]) -> Table:
    """Return a table of the first replies without an answer."""
    rows = []
    for line in replies[:_SHOWN_REPLIES]:
        rows.append(
            [line["model"], line["id"], line["format"], line["reply"][:_SHOWN_CHARACTERS] or "(empty)"]
        )
    count = len(replies)
    title = (
        f"closed questions without an answer: {len(rows)} of {count} (--json and --answers have all of them)"
    )
    return table(title, ("model", "item", "format", "reply"), rows, layout="records")


def _correction_line(model: str, corrected: Prevalence) -> str:
    """Return the rate of generative items without the judge's errors, or why there is none, in one line."""
    line = f"{model}: generative, without the judge's errors: {corrected}"
    if corrected.problem:
        line += f" ({corrected.problem})"
    return line


_COUNTED_AS: Final[Mapping[Unanswered, str]] = {
    "apart": "unanswered replies left out",
    "wrong": "unanswered replies count as hallucinated",
}


def _format_table(results: Sequence[Assessed], unanswered: Unanswered) -> Table:
    """Return the table of the rates of each format, and of their mean."""
    rows = []
    for result in results:
        mean = "-"
        if result.rates.overall is not None:
            value, low, high = result.rates.overall
            mean = f"{value:.3f} [{low:.3f}, {high:.3f}]"
        row: list[object] = [result.model]
        for name in FORMATS:
            row.append(result.rates.formats.get(name, "-"))
        row += [mean, sum(result.rates.unanswered.values()), result.failed]
        rows.append(row)
    return table(
        f"hallucination rates [95 % interval] (C-FAITH Table 5), {_COUNTED_AS[unanswered]}",
        ("model", *FORMATS, "overall", "unanswered", "failed"),
        rows,
    )


def _share_tables(
    title: str, names: Sequence[str], shares_of_models: Mapping[str, Mapping[str, Share]]
) -> list[Table]:
    """Return a table of shares by model; none where the benchmark has no item that it is about."""
    if not any(shares_of_models.values()):
        return []
    columns = ["model"]
    for name in names:
        columns.append(name.replace("_", " "))
    rows = []
    for model, shares in shares_of_models.items():
        row: list[object] = [model]
        for name in names:
            row.append(shares.get(name, "-"))
        rows.append(row)
    return [table(title, columns, rows)]


def item_prompt(item: Item) -> str:
    """Return the prompt about an item."""
    if isinstance(item, Choice):
        return choice_prompt(item)
    if isinstance(item, TrueFalse):
        return _TRUTH_PROMPT[item.language == "zh"].format(question=item.question, answer=item.answer)
    return item.question


def _judge_tallies(calibrated: Calibrated) -> tuple[Tallies, Tallies]:
    """Return the shares in which the judge was right on gold, by group: of conflicts, and of replies that agree."""
    conflicts, agreements = [], []
    for case, verdict in calibrated:
        if not case.gold or verdict.value is None:
            continue
        is_right = verdict.value == case.gold[0]
        if case.gold[0] == _CONFLICT:
            conflicts.append((case.group, is_right))
        else:
            agreements.append((case.group, is_right))
    return tallies(conflicts), tallies(agreements)


def _item_result(item: Item, reply: str, failed: bool, verdict: Verdict | None) -> ItemResult:
    """Return the result of an item: by rules of a closed one, by the judge's verdict of a free one."""
    if failed or (verdict is not None and verdict.status == "failed"):
        return ItemResult(item, None, failed=True)
    return ItemResult(item, _is_hallucinated(item, reply, verdict))


def _is_hallucinated(item: Item, reply: str, verdict: Verdict | None) -> bool | None:
    """Return whether the answer of a reply is not the correct one; ``None`` without an answer."""
    if isinstance(item, Choice):
        letter = read_choice(reply, item.options)
        if letter is None:
            return None
        return letter != item.correct
    if isinstance(item, TrueFalse):
        truth = read_truth(reply)
        if truth is None:
            return None
        return truth != item.correct
    if verdict is None or verdict.value is None:
        return None
    return bool(verdict.value == _CONFLICT)
