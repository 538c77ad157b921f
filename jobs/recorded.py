"""Verdicts of a log held against gold: which column holds them, which row is which, and what the log says of it."""

import keyword
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import dspy

from ..cases import Case, Value, Values, text_hash
from ..engines.models import RECORDED
from ..errors import GoldError, UsageError, plural
from ..evaluation.closed_labels import FIRST, SECOND
from ..evaluation.scores import pointed
from ..gold.files import Row
from ..gold.goldset import Gold
from ..gold.mapping import RowMapping, is_silent
from ..gold.paths import flat
from ..gold.rows import REASON, is_rating
from ..gold.sources import read
from ..keeping.loaders import RecordedJudge
from ..keeping.naming import BASIC
from ..programs.answers.base import Reading
from ..programs.judge import Judge
from ..programs.records import records
from ..runs.outputs import lines_in
from ..runs.state import values_said
from ..text.wording import normalised

IDS = ("id", "case_id", "row_id", "example_id", "trace_id", "request_id", "uid", "case")
"""Columns that name a row, the surest first."""
LABELS = (
    *("label", "gold", "human", "human_label", "expected", "target", "truth", "ground_truth", "annotation"),
    *("rating", "verdict", "score", "preference"),
)
"""Columns that hold what people said, the surest first."""
VERDICTS = (
    *("verdict", "judge", "judgement", "judgment", "judged", "prediction", "predicted", "label", "score"),
    *("result", "decision", "value"),
)
"""Columns that hold what a judge said, the surest first."""
_ABOUT = (
    *("group", "rater", REASON, "ratings", "confidence"),
    *("cost", "latency", "timestamp", "model", "created"),
)
_WORDS = {"true", "yes", "y", "false", "no", "n", "1", "0"}
_FEW = 20  # values above which a column of texts is no column of labels
_LONGEST = 40  # characters of a label
_RUN = ["case"]  # by what the lines of ``jurist run`` are found


def logs_beside(names: Sequence[str], gold: Gold) -> tuple[RecordedJudge, ...]:
    """Return the judges of logs, each with what it says of the gold."""
    for name in names:
        if not name.startswith(RECORDED):
            hint = f"write {RECORDED}FILE; compare asks judges: jurist compare {name} ..."
            raise UsageError(f"{name} is no log of verdicts", hint=hint)
    return tuple(joined(RecordedJudge.of(name, None), gold) for name in dict.fromkeys(names))


def log_rows(log: RecordedJudge) -> list[Row]:
    """Return the rows of a log, with what is nested in them by its path."""
    rows = [{**row, **dict(flat(row))} for _, row in read(log.file).rows]
    if not rows:
        raise GoldError("there are no rows", path=log.file, hint="name a file with a verdict a row")
    if _of_a_run(rows[0]) and isinstance(rows[0]["units"], str):  # a run that was written as CSV
        return [line for _, line in lines_in(Path(log.file))]
    return rows


def judge_named(log: RecordedJudge) -> str:
    """Return the name of the judge whose run a log is; empty if it is none."""
    row = log_rows(log)[0]
    return str(row["judge"]).partition("@")[0].removesuffix(BASIC) if _of_a_run(row) else ""


def _of_a_run(row: Mapping[str, Any]) -> bool:
    return {"case", "units", "judge"} <= row.keys()


def inferred_judge(logs: Sequence[RecordedJudge], gold: Any, columns: Mapping[str, str]) -> Judge:
    """Return a judge of the values that the gold and the logs hold, of whatever else the gold's rows hold."""
    if isinstance(gold, Gold):
        return gold.judge
    path = os.fspath(gold) if isinstance(gold, str | os.PathLike) else ""
    plain = [row for _, row in read(path).rows] if path else records(gold, "gold")
    rows = [
        {columns.get(key, key): value for key, value in {**row, **dict(flat(row))}.items()} for row in plain
    ]
    label = _column(rows, "", LABELS, path or "gold", "say which one it is: --column THEIRS=label")
    verdicts = Counter[str]()
    for log in logs:
        of_log = log_rows(log)
        column = verdict_column(log, of_log)
        verdicts.update(_text(row.get(column)) for row in of_log)
    kind, settings = _kind_of([_text(row.get(label)) for row in rows], verdicts)
    rows = [
        row for row in rows if _text(row.get(label))
    ]  # a total below the rows says nothing of the columns
    positive = settings.pop("positive", ())
    own = {label, *(log.column for log in logs if log.file == path)}
    named: dict[str, str] = {}  # field -> column
    for key in (key for row in rows for key in row):
        named.setdefault(_field(key), key)
    texts = [
        name
        for name in named.values()
        if name not in own and not is_rating(name)
        if name.lower().rpartition(".")[2] not in (*IDS, *_ABOUT)
        if all(isinstance(row.get(name), str) and row[name].strip() for row in rows)
    ]
    keys = [name for name in IDS if rows and all(_text(row.get(name)) for row in rows)]
    inputs = [name for name in texts if not _is_label(rows, name)] or texts or keys[:1]
    if not inputs:
        hint = "hold the log beside a judge: jurist compare JUDGE recorded:FILE --gold F"
        raise GoldError("the rows hold no texts that tell them apart", path=path, hint=hint)
    fields = {_field(name): (str, dspy.InputField()) for name in inputs}
    fields[_field(label)] = (kind, dspy.OutputField(**settings))
    return Judge(
        name="recorded",
        signature=dspy.make_signature(fields, "Say what the log says.", "Recorded"),
        positive=positive,
        columns={name: _field(name) for name in (*inputs, label) if name != _field(name)},
    )


def _field(path: str) -> str:
    """Return the name of the field that is read from a column or a path, as ``scores_overall``."""
    name = re.sub(r"\W+", "_", path).strip("_")
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"field_{name}"


def _kind_of(labels: Sequence[str], verdicts: Counter[str]) -> tuple[Any, dict[str, Any]]:
    """Return the type of an answer whose values are these, with its range or its positive label."""
    known = [one for one in labels if one and not is_silent(one)]
    if not known:
        hint = "say which column holds it: --column THEIRS=label"
        raise UsageError("no row of the gold has a label", hint=hint)
    if {value.casefold() for value in known} <= _WORDS:
        return bool, {"positive": "true"}
    numbers = [_number(value) for value in known]
    if None not in numbers:
        every = [one for one in (*numbers, *map(_number, verdicts)) if one is not None]
        whole = all(one == round(one) for one in every)
        return (int if whole else float), {"ge": min(every), "le": max(every)}
    # what a log says once and people never is no label of theirs
    texts = Counter(known)
    texts.update(
        {one: n for one, n in verdicts.items() if n > 1 and _number(one) is None and not is_silent(one)}
    )
    spelled = {value.casefold(): value for value, _ in reversed(texts.most_common())}
    choices = sorted(spelled.values())
    if len(choices) > _FEW:
        raise UsageError(
            f"{len(choices)} different labels are no labels: {', '.join(choices[:5])}, ...",
            hint="say which columns hold them: recorded:FILE#COLUMN, --column THEIRS=label",
        )
    counts = Counter(value.casefold() for value in known)
    rarest = min(choices, key=lambda one: (counts[one.casefold()] or len(known), one))
    return Literal[*choices], {"positive": rarest} if len(choices) <= 2 else {}


def verdict_column(log: RecordedJudge, rows: Sequence[Row]) -> str:
    """Return the column of a log that holds its verdicts."""
    hint = f"say which one it is: {RECORDED}{log.file}#COLUMN"
    return _column(rows, log.column, VERDICTS, log.file, hint)


def _column(rows: Sequence[Row], wanted: str, names: Sequence[str], path: str, hint: str) -> str:
    """Return the column of answers: the one that is named, else of a usual name, else the only one like labels."""
    have = list(dict.fromkeys(key for row in rows for key in row))
    if wanted in have:
        return wanted
    if wanted:
        raise GoldError(f"no row has the column {wanted!r}", path=path, hint=f"it has {', '.join(have)}")
    usual = {name.lower(): name for name in reversed(have)}
    if known := [usual[name] for name in names if name in usual]:
        return known[0]
    alike = [name for name in have if name.lower() not in (*IDS, *_ABOUT) and _is_label(rows, name)]
    if len(alike) == 1:
        return alike[0]
    problem = f"which column holds the answers is not clear: it has {', '.join(have)}"
    raise GoldError(problem, path=path, hint=hint)


def _is_label(rows: Sequence[Row], name: str) -> bool:
    values = {_text(row.get(name)).casefold() for row in rows}
    return len(values) <= min(_FEW, max(4, len(rows) // 2)) and max(map(len, values)) <= _LONGEST


def _number(value: str) -> float | None:
    """Return a cell as a number; ``None`` if it is none."""
    try:
        return float(pointed(value))
    except ValueError:
        return None


def _text(value: Any) -> str:
    """Return a cell as text, empty for none and for what is not a number."""
    text = str(value).strip() if isinstance(value, str | bool | int | float) else ""
    return "" if text.lower() in ("", "nan", "none", "null", "n/a") else text


def joined(log: RecordedJudge, gold: Gold) -> RecordedJudge:
    """Return the judge of a log with what it says of each case of the gold; its note says how rows were found."""
    cases, mapping = (*gold.cases, *gold.ambiguous), RowMapping(**gold.mapping)
    own = {**gold.judge.columns, **mapping.columns}
    inputs = {path: name for path, name in own.items() if name in gold.judge.input_fields}
    rows = [
        {**row, **{name: row[path] for path, name in inputs.items() if path in row}} for row in log_rows(log)
    ]
    keys = _keys(rows, gold, cases, log.column)
    columns = _columns(log, rows, gold.judge, keys)
    by_key: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        by_key.setdefault(tuple(_key(row.get(name)) for name in keys), []).append(row)
    by_key.pop(("",) * len(keys), None)  # rows without an id are not all the same row
    known, unreadable, contradicted, used = dict[str, Reading](), list[str](), 0, 0
    for case in cases:
        orders = _rows_of(case, gold, keys, by_key)
        readings = [
            [reading for row in order if (reading := _reading(gold.judge, mapping, case, row, columns))]
            for order in orders
        ]
        used += sum(map(len, orders))
        if any(len({one.values for one in order}) > 1 for order in readings):
            contradicted += 1
        elif any(readings):
            known[case.id] = _together(gold.judge, readings)
        elif same := [row for order in orders for row in order]:
            unreadable.append(_text(same[0].get(columns[0])) or "nothing")
    if not used:
        raise GoldError(
            f"none of the {plural(len(cases), 'labelled row')} is in the log by {' and '.join(keys)}",
            path=log.file,
            hint="give both files the same id column, or the same inputs, word for word",
        )
    named = ", ".join(map(repr, columns))
    notes = [f"{log.name}: the column {named} of {plural(used, 'row')}, found by {' and '.join(keys)}"]
    if missing := len(cases) - len(known) - len(unreadable) - contradicted:
        example = next(case for case in cases if case.id not in known)
        notes.append(f"{plural(missing, 'labelled row')} not in it, such as {example.source}")
    if len(rows) > used:
        notes.append(f"{plural(len(rows) - used, 'row')} of it without a label")
    if contradicted:
        notes.append(f"{plural(contradicted, 'row')} with verdicts that contradict each other")
    if unreadable:
        without = plural(len(unreadable), "row")
        notes.append(f"{without} without a label of the gold, such as {unreadable[0]!r}")
    sha = text_hash(repr(sorted((id_, one.values, one.probabilities) for id_, one in known.items())))
    return log.on_gold(gold.judge, known, sha, "; ".join(notes))


def _columns(log: RecordedJudge, rows: Sequence[Row], judge: Judge, keys: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a log that say what the judge does: one, or one for each criterion."""
    if keys == _RUN:
        return ("units",)
    if not judge.answer.criteria:
        return (verdict_column(log, rows),)
    fields, have = judge.answer.fields, {name for row in rows for name in row}
    if log.column or not have.issuperset(fields):
        raise GoldError(
            f"{judge.name} gives {', '.join(fields)}, and {log.name} does not give all of them",
            path=log.file,
            hint="name a log with a column for each, without #COLUMN",
        )
    return fields


def _rows_of(
    case: Case, gold: Gold, keys: Sequence[str], by_key: Mapping[tuple[str, ...], list[Row]]
) -> list[list[Row]]:
    """Return the rows of a log that are of a case; of a pair those in its own order, and those in the other one."""
    answer, orders = gold.judge.answer, list[list[Row]]()
    sides = answer.unit_fields if answer.presentations > 1 else ()
    for inputs in [case.inputs] if keys == _RUN else answer.asks(case.inputs):
        values = {**gold.rows[case.id], **inputs, "case": case.id}
        texts = {name: _key(inputs[name]) for name in sides}
        orders.append(
            [
                row
                for row in by_key.get(tuple(_key(values.get(name)) for name in keys), [])
                if all(_key(row.get(name, text)) == text for name, text in texts.items())
                and not any(row in order for order in orders)
            ]
        )
    return orders


def _together(judge: Judge, orders: Sequence[Sequence[Reading]]) -> Reading:
    """Return what the first readings of each order say of a pair in its own one; of no pair there is one order."""
    own, exchanged = orders[0], [one for order in orders[1:] for one in order]
    if not exchanged:
        return own[0]
    turned = {FIRST: SECOND, SECOND: FIRST}
    in_own_order = replace(
        exchanged[0], values=tuple(turned.get(str(one), one) for one in exchanged[0].values)
    )
    return judge.answer.join([own[0] if own else in_own_order, exchanged[0]])


def _keys(rows: Sequence[Row], gold: Gold, cases: Sequence[Case], wanted: str) -> list[str]:
    """Return the columns by which rows are found: an id that both have, else the inputs that both have."""
    have = {key for row in rows for key in row}
    if _of_a_run(rows[0]) and not wanted:
        return _RUN
    own = {key for case in cases for key in gold.rows[case.id]}
    for name in IDS:
        if name in have & own and len({_key(row.get(name)) for row in rows}) > len(rows) // 2:
            return [name]
    inputs = [name for name in gold.judge.input_fields if name in have]
    if inputs:
        return inputs
    raise GoldError(
        f"the log has none of the columns that tell rows apart: {', '.join(gold.judge.input_fields)}, or an id",
        path=gold.source,
        hint=f"the log has {', '.join(sorted(have))}; give both files a column id",
    )


def _key(value: Any) -> str:
    return normalised(value) if isinstance(value, str) else "" if value is None else str(value)


def _reading(
    judge: Judge, mapping: RowMapping, case: Case, row: Row, columns: Sequence[str]
) -> Reading | None:
    """Return what a row of the log says of a case; ``None`` if it says no answer of the judge."""
    if columns == ("units",):
        return Reading(values=values_said(judge, row))
    if judge.answer.criteria:
        values = _values(judge, mapping, case, {name: row.get(name) for name in columns})
        return None if set(values) <= {None} else Reading(values=values)
    value = row.get(columns[0])
    if isinstance(value, Mapping):
        return _shares(judge, value)
    scale = judge.answer.scale
    if isinstance(value, str | int | float) and not _text(value):
        return None
    number = None if isinstance(value, bool) else _number(_text(value))
    if number is not None and scale.has_probabilities and 0 < number < 1:
        *others, positive = sorted(scale.domain, key=lambda label: scale.probability({label: 1.0}) or 0)
        if len(others) == 1 and scale.probability({positive: 1.0}):
            likelier = positive if number >= 0.5 else others[0]
            shares = {positive: number, others[0]: 1 - number}
            return Reading(values=(likelier,), probabilities=(shares,))
    values = _values(judge, mapping, case, {judge.answer.field: value})
    return None if not values or None in values else Reading(values=values)


def _values(judge: Judge, mapping: RowMapping, case: Case, recorded: Row) -> Values:
    """Return the values that output fields say, as gold has them; none if they cannot be read."""
    try:
        row = RowMapping(labels=mapping.labels).row(judge, {**case.inputs, **recorded})
        row = {name: row[name] for name in (*case.inputs, *recorded) if name in row}
        return judge.case(judge.answer.gathered(row)).gold or ()
    except GoldError:
        return ()


def _shares(judge: Judge, logged: Mapping[str, Any]) -> Reading | None:
    """Return the reading of a probability for each label."""
    scale = judge.answer.scale
    known = {label.strip().casefold(): share for label, share in logged.items()}
    shares: dict[Value, Any] = {value: known.get(scale.text(value).casefold()) for value in scale.domain}
    if not shares or not all(isinstance(share, int | float) and 0 <= share <= 1 for share in shares.values()):
        return None
    return Reading(values=(max(shares, key=shares.__getitem__),), probabilities=(shares,))
