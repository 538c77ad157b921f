"""The reading of one row of a log: the values of a judge's answer, or their probabilities, in its cells."""

from collections.abc import Mapping, Sequence

from ..cases import Case, Value, Values
from ..errors import GoldError
from ..gold.files import Row
from ..gold.mapping import RowMapping
from ..programs.judge import Judge
from ..programs.verdicts import Verdict
from ..runs.lines import unit_values
from ..text.replies import fields_of, match_value
from .log_columns import VERDICT_COLUMNS, LogColumns, cell_text, parse_number


def read_rows_of_case(
    judge: Judge, mapping: RowMapping, case: Case, rows: Sequence[Row], columns: LogColumns
) -> list[Verdict]:
    """Return the verdicts of some rows of a log for a case, without rows that hold no answer of the judge."""
    verdicts: list[Verdict] = []
    for row in rows:
        verdict = _read_row(judge, mapping, case, row, columns)
        if verdict:
            verdicts.append(verdict)
    return verdicts


def _read_row(judge: Judge, mapping: RowMapping, case: Case, row: Row, columns: LogColumns) -> Verdict | None:
    """Return the verdict of a log's row for a case; ``None`` if the row holds no answer of the judge."""
    if columns.has_units:
        return Verdict(values=unit_values(judge, row))
    if judge.answer.criteria:
        answers = {name: row.get(name) for name in columns.verdicts}
        values = _read_values(judge, mapping, case, answers)
        if all(value is None for value in values):
            return None
        return Verdict(values=values)
    return _read_cell(judge, mapping, case, row.get(columns.verdicts[0]))


def _read_cell(judge: Judge, mapping: RowMapping, case: Case, cell: object) -> Verdict | None:
    """Return the verdict of one cell: of labels, of probabilities or of a model's reply; ``None`` without an answer."""
    if isinstance(cell, Mapping):
        return _read_shares(judge, cell)
    text = cell_text(cell)
    if isinstance(cell, str | int | float) and not text:
        return None
    if not isinstance(cell, bool):
        verdict = _read_probability(judge, parse_number(text))
        if verdict:
            return verdict
    values = _read_values(judge, mapping, case, {judge.answer.field: cell})
    if isinstance(cell, str) and not _are_complete(values):
        values = _read_reply(judge, mapping, case, cell)
    if not _are_complete(values):
        return None
    return Verdict(values=values)


def _are_complete(values: Values) -> bool:
    """Whether there are values, and none is missing."""
    return bool(values) and None not in values


def _read_probability(judge: Judge, probability: float | None) -> Verdict | None:
    """Return the verdict of a probability of the positive label, of two; ``None`` for other judges and numbers."""
    scale = judge.answer.scale
    if probability is None or not scale.has_probabilities or not 0 < probability < 1:
        return None
    labels = sorted(scale.domain, key=lambda label: scale.probability({label: 1.0}) or 0)
    if len(labels) != 2 or not scale.probability({labels[1]: 1.0}):
        return None
    negative, positive = labels
    likelier = positive if probability >= 0.5 else negative
    shares = {positive: probability, negative: 1 - probability}
    return Verdict(values=(likelier,), probabilities=(shares,))


def _read_shares(judge: Judge, logged_shares: Mapping[str, object]) -> Verdict | None:
    """Return the verdict of a probability for each label; ``None`` if one is missing or out of range."""
    scale = judge.answer.scale
    share_of_text: dict[str, object] = {}
    for label, share in logged_shares.items():
        share_of_text[label.strip().casefold()] = share
    shares: dict[Value, float] = {}
    for value in scale.domain:
        share = share_of_text.get(scale.text(value).casefold())
        if not isinstance(share, int | float) or not 0 <= share <= 1:
            return None
        shares[value] = share
    if not shares:
        return None
    likeliest = max(shares, key=shares.__getitem__)
    return Verdict(values=(likeliest,), probabilities=(shares,))


def _read_reply(judge: Judge, mapping: RowMapping, case: Case, reply: str) -> Values:
    """Return the values in a cell with a model's reply; none if the rules for replies read none."""
    field = judge.answer.field
    try:
        answer = _find_answer(judge, reply)
    except ValueError:
        return ()
    return _read_values(judge, mapping, case, {field: answer})


def _find_answer(judge: Judge, reply: str) -> object:
    """Return the answer in a reply: of the judge's field, else of a usual name, else the only label in it.

    Raises:
        ValueError: the reply gives no answer, or several.
    """
    field = judge.answer.field
    other_answers: list[object] = []
    for name, value in fields_of(reply, (field,) + VERDICT_COLUMNS):
        if name == field:
            return value
        other_answers.append(value)
    if other_answers:
        return other_answers[0]
    scale = judge.answer.scale
    if not scale.domain:
        raise ValueError("the reply gives no field of the judge")
    labels: dict[str, None] = {}
    for label in scale.domain:
        labels[scale.text(label)] = None
    return match_value(reply, list(labels))


def _read_values(judge: Judge, mapping: RowMapping, case: Case, answers: Row) -> Values:
    """Return the values in some output fields, as gold has them; none if they cannot be read."""
    try:
        row = RowMapping(labels=mapping.labels).row(judge, {**case.inputs, **answers})
        judge_row: Row = {}
        for name in list(case.inputs) + list(answers):
            if name in row:
                judge_row[name] = row[name]
        return judge.case(judge.answer.gathered(judge_row)).gold or ()
    except GoldError:
        return ()
