"""Verdicts of a log held against gold: which column holds them, which row is which, and what the log says of it."""

import keyword
import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal

import dspy
import pydantic

from ..cases import Case, Value, Values, text_hash
from ..engines.models import RECORDED
from ..errors import GoldError, UsageError, plural
from ..evaluation.closed_labels import FIRST, SECOND
from ..evaluation.scores import pointed
from ..gold.columns import choose_label_column, find_columns, is_silent, label_candidates
from ..gold.files import Row
from ..gold.goldset import Gold
from ..gold.mapping import RowMapping
from ..gold.paths import flat
from ..gold.rows import REASON, is_rating
from ..gold.sources import read
from ..keeping.logs import Log, LogReference
from ..keeping.naming import BASIC
from ..programs.answers.base import Reading
from ..programs.judge import Judge
from ..programs.records import records
from ..runs.lines import unit_values
from ..runs.outputs import lines_in
from ..text.replies import choice, fields_of
from ..text.turns import as_text
from ..text.wording import normalised, plain

IDS = ("id", "case_id", "row_id", "example_id", "trace_id", "request_id", "uid", "case")
"""Columns that name a row, the surest first."""
RECORDED_JUDGE = "recorded"
"""The name of a judge that is made of a log and gold alone."""
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
_SENTENCE = '.:;,!?{}[]"\n'
"""Marks that no label has: what holds them is a sentence, or a structure."""
_SHOWN = 4  # words of a log that an error shows
_FEW = 20  # values above which a column of texts is no column of labels
_LONGEST = 40  # characters of a label
_RUN = ["case"]  # by what the lines of ``jurist run`` are found


def logs_beside(names: Sequence[str], gold: Gold) -> tuple[Log, ...]:
    """Return the logs of these names, each with its verdicts on the gold."""
    for name in names:
        if not name.startswith(RECORDED):
            hint = f"write {RECORDED}FILE; compare asks judges: jurist compare {name} ..."
            raise UsageError(f"{name} is no log of verdicts", hint=hint)
    return tuple(read_log(LogReference.of(name), gold) for name in dict.fromkeys(names))


def log_rows(log: LogReference) -> list[Row]:
    """Return the rows of a log, with what is nested in them by its path."""
    rows = [{**row, **dict(flat(row))} for _, row in read(log.file).rows]
    if not rows:
        raise GoldError("there are no rows", path=log.file, hint="name a file with a verdict a row")
    if _of_a_run(rows[0]) and isinstance(rows[0]["units"], str):  # a run that was written as CSV
        return [line for _, line in lines_in(Path(log.file))]
    return rows


def judge_named(log: LogReference) -> str:
    """Return the name of the judge whose run a log is; empty if it is none."""
    row = log_rows(log)[0]
    return str(row["judge"]).partition("@")[0].removesuffix(BASIC) if _of_a_run(row) else ""


def _of_a_run(row: Mapping[str, Any]) -> bool:
    return {"case", "units", "judge"} <= row.keys()


def inferred_judge(logs: Sequence[LogReference], gold: Any, mapping: RowMapping) -> Judge:
    """Return a judge of the values that gold and logs hold; its inputs are texts that the gold's rows have."""
    if isinstance(gold, Gold):
        return gold.judge
    path = os.fspath(gold) if isinstance(gold, str | os.PathLike) else ""
    plain_rows = [row for _, row in read(path).rows] if path else records(gold, "gold")
    rows: list[Row] = []
    for row in plain_rows:
        whole = {**row, **dict(flat(row))}
        rows.append({mapping.columns.get(key, key): value for key, value in whole.items()})

    log_columns = [log.column for log in logs if log.file == path]
    named = "label" in mapping.columns.values()
    label = "label" if named else _label_column(rows, log_columns, path or "gold")
    verdicts = Counter[str]()
    shared_with_logs: set[str] | None = None
    for log in logs:
        of_log = log_rows(log)
        column = verdict_column(log, of_log)
        verdicts.update(mapping.meant(_text(row.get(column))) for row in of_log)
        have = {plain(key) for row in of_log for key in row}
        shared_with_logs = have if shared_with_logs is None else shared_with_logs & have
    kind, settings = _kind_of([mapping.meant(_text(row.get(label))) for row in rows], verdicts)
    positive = settings.pop("positive", ())

    # a total below the rows says nothing of the columns
    rows = [row for row in rows if _text(row.get(label))]
    inputs = _input_columns(rows, {label, *log_columns}, shared_with_logs or set())
    if not inputs:
        hint = "hold the log beside a judge: jurist compare JUDGE recorded:FILE --gold F"
        raise GoldError("the rows hold no texts that tell them apart", path=path, hint=hint)
    fields = {_field(name): (str, dspy.InputField()) for name in inputs}
    fields[_field(label)] = (kind, dspy.OutputField(**settings))
    judge = Judge(
        name=RECORDED_JUDGE,
        signature=dspy.make_signature(fields, "Say what the log says.", "Recorded"),
        positive=positive,
        columns={name: _field(name) for name in (*inputs, label) if name != _field(name)},
    )
    return _with_empty_cells(judge)


def _label_column(rows: Sequence[Row], apart: Sequence[str], path: str) -> str:
    """Return the column of the gold that holds what people said: as it is called, else the only one like labels."""
    names = list(dict.fromkeys(key for row in rows for key in row))
    candidates = label_candidates(rows, names, apart)
    if column := choose_label_column(candidates, path):
        return column
    alike = [name for name in names if name not in apart and _may_be_label(rows, name)]
    if len(alike) == 1:
        return alike[0]
    problem = f"which column holds the answers is not clear: it has {', '.join(names)}"
    raise GoldError(problem, path=path, hint="say which one it is: --column THEIRS=label")


def _input_columns(rows: Sequence[Row], apart: Collection[str], in_logs: Collection[str]) -> list[str]:
    """Return the columns of texts that most rows fill in: those that the logs have too, if there are some."""
    columns: dict[str, str] = {}  # field -> column
    for row in rows:
        for key in row:
            columns.setdefault(_field(key), key)
    texts = []
    for name in columns.values():
        about_the_row = name.lower().rpartition(".")[2] in (*IDS, *_ABOUT)
        if name not in apart and not about_the_row and not is_rating(name) and _is_text(rows, name):
            texts.append(name)
    told_apart = [name for name in texts if not _is_label(rows, name)] or texts
    shared = [name for name in told_apart if plain(name) in in_logs]
    ids = [name for name in IDS if rows and all(_text(row.get(name)) for row in rows)]
    # rows that are found by an id keep all of their texts
    if ids and any(plain(name) in in_logs for name in ids):
        return told_apart or ids[:1]
    return shared or told_apart or ids[:1]


def _is_text(rows: Sequence[Row], name: str) -> bool:
    """Whether a column holds texts, and most rows have one."""
    filled = 0
    for row in rows:
        value = row.get(name)
        if isinstance(value, str):
            filled += bool(value.strip())
        elif value is not None:
            return False
    return 2 * filled > len(rows)


def _with_empty_cells(judge: Judge) -> Judge:
    """Return a judge of which a row may leave inputs out: a log is held against rows as they are."""
    optional = {
        name: (Annotated[str, pydantic.BeforeValidator(_text_or_empty)], "") for name in judge.input_fields
    }
    model = pydantic.create_model("RecordedRow", __base__=judge.row_model, **optional)  # type: ignore[call-overload]

    def to_case(row: Any) -> Case:
        label = getattr(row, judge.answer.field)
        return Case(
            inputs={name: getattr(row, name) for name in judge.input_fields},
            group=row.group,
            gold=None if label is None else judge.answer.values_of(label),
        )

    return replace(judge, rows=model, to_case=to_case)


def _text_or_empty(value: Any) -> Any:
    return "" if value is None else as_text(value)


def _field(path: str) -> str:
    """Return the name of the field that is read from a column or a path, as ``scores_overall``."""
    name = re.sub(r"\W+", "_", path).strip("_")
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"field_{name}"


def _kind_of(labels: Sequence[str], verdicts: Counter[str]) -> tuple[Any, dict[str, Any]]:
    """Return the type of an answer whose values are these, with its range or its positive label."""
    given = [label for label in labels if label and not is_silent(label)]
    if not given:
        hint = "say which column holds it: --column THEIRS=label"
        raise UsageError("no row of the gold has a label", hint=hint)
    if {label.casefold() for label in given} <= _WORDS:
        return bool, {"positive": "true"}
    numbers = [_number(label) for label in given]
    if None not in numbers:
        every = [number for number in (*numbers, *map(_number, verdicts)) if number is not None]
        whole = all(number == round(number) for number in every)
        return (int if whole else float), {"ge": min(every), "le": max(every)}
    counts = Counter(label.casefold() for label in given)
    texts = Counter(given)
    # a log in other words says no labels of these people; nor does what it says once, or at length
    if any(verdict.casefold() in counts for verdict in verdicts):
        for verdict, rows in verdicts.items():
            short = len(verdict) <= _LONGEST and not set(verdict) & set(_SENTENCE)
            if rows > 1 and short and _number(verdict) is None and not is_silent(verdict):
                texts[verdict] += rows
    spelled = {text.casefold(): text for text, _ in reversed(texts.most_common())}
    choices = sorted(spelled.values())
    if len(choices) > _FEW:
        raise UsageError(
            f"{len(choices)} different labels are no labels: {', '.join(choices[:5])}, ...",
            hint="say which columns hold them: recorded:FILE#COLUMN, --column THEIRS=label",
        )
    rarest = min(choices, key=lambda text: (counts[text.casefold()] or len(given), text))
    return Literal[*choices], {"positive": rarest} if len(choices) <= 2 else {}


def verdict_column(log: LogReference, rows: Sequence[Row]) -> str:
    """Return the column of a log that holds its verdicts: that of its name, else of a usual name, else like labels."""
    have = list(dict.fromkeys(key for row in rows for key in row))
    if log.column in have:
        return log.column
    if log.column:
        raise GoldError(
            f"no row has the column {log.column!r}", path=log.file, hint=f"it has {', '.join(have)}"
        )
    usual = {name.lower(): name for name in reversed(have)}
    for name in VERDICTS:
        if name in usual:
            return usual[name]
    alike = [name for name in have if _may_be_label(rows, name)]
    if len(alike) == 1:
        return alike[0]
    problem = f"which column holds the answers is not clear: it has {', '.join(have)}"
    raise GoldError(problem, path=log.file, hint=f"say which one it is: {RECORDED}{log.file}#COLUMN")


def _may_be_label(rows: Sequence[Row], name: str) -> bool:
    """Whether a column of no usual name holds values as labels are."""
    return name.lower() not in (*IDS, *_ABOUT) and _is_label(rows, name)


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


@dataclass
class _Joining:
    """The verdicts of a log on the cases of gold, and counts of rows that say nothing of a label."""

    readings: dict[str, Reading]  # case id -> the reading of its verdict
    unreadable: list[str]  # verdicts that are no label of the gold
    contradicted: int = 0  # cases whose verdicts in the log contradict each other
    repeated: int = 0  # cases with several verdicts in the log
    used_rows: int = 0  # rows of the log with a labelled case


def read_log(log: LogReference, gold: Gold) -> Log:
    """Return a log with its verdict on each case of the gold; its note says how rows were found.

    Raises:
        GoldError: no row of the log belongs to the gold, or no verdict is a label of the gold.
    """
    cases = (*gold.cases, *gold.ambiguous)
    mapping = RowMapping(**gold.mapping)
    rows = _by_field(log_rows(log), gold, mapping)
    keys = _keys(rows, gold, cases, log)
    columns = _columns(log, rows, gold.judge, keys)
    joining = _join(rows, cases, gold, mapping, keys, columns)
    if not joining.used_rows:
        raise GoldError(
            f"none of the {plural(len(cases), 'labelled row')} is in the log by {' and '.join(keys)}",
            path=log.file,
            hint="give both files the same id column, or the same inputs, word for word",
        )
    if joining.unreadable and not joining.readings and not joining.contradicted:
        raise _other_words(log, gold, columns, joining.unreadable)
    verdicts = [(case_id, item.values, item.probabilities) for case_id, item in joining.readings.items()]
    return Log(
        reference=log,
        judge=gold.judge,
        readings=joining.readings,
        sha256=text_hash(repr(sorted(verdicts))),
        note="; ".join(_joining_notes(joining, log, gold, cases, keys, columns, len(rows))),
    )


def _join(
    rows: Sequence[Row],
    cases: Sequence[Case],
    gold: Gold,
    mapping: RowMapping,
    keys: Sequence[str],
    columns: Sequence[str],
) -> _Joining:
    """Join the rows of a log with cases by the columns ``keys``, and read the verdicts in ``columns``."""
    rows_by_key: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        key = tuple(_key(row.get(name)) for name in keys)
        rows_by_key.setdefault(key, []).append(row)
    rows_by_key.pop(("",) * len(keys), None)  # rows without an id are not all the same row

    joining = _Joining(readings={}, unreadable=[])
    for case in cases:
        orders = _rows_of(case, gold, keys, rows_by_key)
        case_rows = [row for order_rows in orders for row in order_rows]
        joining.used_rows += len(case_rows)
        if any(len(order_rows) > 1 for order_rows in orders):
            joining.repeated += 1
        votes: list[list[Reading]] = []  # for each order the verdict of most rows, if there is one
        contradicts = False
        for order_rows in orders:
            readings = _readings(gold.judge, mapping, case, order_rows, columns)
            verdict = _majority(readings)
            votes.append([verdict] if verdict else [])
            if readings and verdict is None:
                contradicts = True
        if contradicts:
            joining.contradicted += 1
        elif any(votes):
            joining.readings[case.id] = _together(gold.judge, votes)
        elif case_rows:
            joining.unreadable.append(_text(case_rows[0].get(columns[0])) or "nothing")
    return joining


def _readings(
    judge: Judge, mapping: RowMapping, case: Case, rows: Sequence[Row], columns: Sequence[str]
) -> list[Reading]:
    """Return the readings of some rows of a log for a case, without rows that hold no answer of the judge."""
    readings: list[Reading] = []
    for row in rows:
        reading = _reading(judge, mapping, case, row, columns)
        if reading:
            readings.append(reading)
    return readings


def _joining_notes(
    joining: _Joining,
    log: LogReference,
    gold: Gold,
    cases: Sequence[Case],
    keys: Sequence[str],
    columns: Sequence[str],
    row_count: int,
) -> list[str]:
    """Return notes for people on how a log was joined with gold."""
    column_names = ", ".join(repr(column) for column in columns)
    used = joining.used_rows
    notes = [f"{log.name}: the column {column_names} of {plural(used, 'row')}, found by {' and '.join(keys)}"]
    if gold.judge.name == RECORDED_JUDGE:
        notes.append(f"taken as inputs: {', '.join(gold.judge.input_fields)}")
    if joining.repeated:
        notes.append(
            f"{plural(joining.repeated, 'labelled row')} stand in it more than once: most verdicts count"
        )
    missing = len(cases) - len(joining.readings) - len(joining.unreadable) - joining.contradicted
    if missing:
        example = next(case for case in cases if case.id not in joining.readings)
        notes.append(f"{plural(missing, 'labelled row')} not in it, such as {example.source}")
    if row_count > used:
        notes.append(f"{plural(row_count - used, 'row')} of it without a label")
    if joining.contradicted:
        notes.append(f"{plural(joining.contradicted, 'row')} with verdicts that contradict each other")
    if joining.unreadable:
        unreadable_rows = plural(len(joining.unreadable), "row")
        notes.append(f"{unreadable_rows} without a label of the gold, such as {joining.unreadable[0]!r}")
    return notes


def _by_field(rows: Sequence[Row], gold: Gold, mapping: RowMapping) -> list[Row]:
    """Return the rows of a log with the judge's inputs under their own names, as gold is read."""
    input_fields = gold.judge.input_fields
    input_columns: dict[str, str] = {}
    for path, name in {**gold.judge.columns, **mapping.columns}.items():
        if name in input_fields:
            input_columns[path] = name
    result: list[Row] = []
    for row in rows:
        renamed = dict(row)
        for path, name in {**find_columns(row, input_fields), **input_columns}.items():
            if path in row:
                renamed[name] = row[path]
        result.append(renamed)
    return result


def _majority(readings: Sequence[Reading]) -> Reading | None:
    """Return the first reading whose values more than half of the readings have; ``None`` without one."""
    counts = Counter(reading.values for reading in readings)
    for reading in readings:
        if 2 * counts[reading.values] > len(readings):
            return reading
    return None


def _other_words(log: LogReference, gold: Gold, columns: Sequence[str], verdicts: Sequence[str]) -> GoldError:
    """Return the error of a log that says none of the gold's labels."""
    words = [word for word, _ in Counter(verdicts).most_common(_SHOWN)]
    labels = list(gold.judge.answer.scale.choices) or [gold.judge.answer.scale.expects]
    maps = " ".join(f"--map {quote(word)}=LABEL" for word in words)
    more = ", ..." if len(set(verdicts)) > len(words) else ""
    return GoldError(
        f"none of the {len(verdicts)} verdicts in {', '.join(columns)} is a label of the gold: "
        f"the log says {', '.join(words)}{more}, people said {', '.join(labels)}",
        path=log.file,
        hint=f"say which label each word means: {maps}; or name another column: {RECORDED}{log.file}#COLUMN",
    )


def _columns(log: LogReference, rows: Sequence[Row], judge: Judge, keys: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a log with the judge's answers: one, or one for each criterion."""
    if keys == _RUN:
        return ("units",)
    if not judge.answer.criteria:
        return (verdict_column(log, rows),)
    fields = judge.answer.fields
    log_columns = {name for row in rows for name in row}
    if log.column or not log_columns.issuperset(fields):
        raise GoldError(
            f"{judge.name} gives {', '.join(fields)}, and {log.name} does not give all of them",
            path=log.file,
            hint="name a log with a column for each, without #COLUMN",
        )
    return fields


def _rows_of(
    case: Case, gold: Gold, keys: Sequence[str], rows_by_key: Mapping[tuple[str, ...], list[Row]]
) -> list[list[Row]]:
    """Return the rows of a log with a case: one list, or for a pair two, in its own order and in the other one."""
    answer = gold.judge.answer
    inputs_of_orders = [case.inputs] if keys == _RUN else answer.asks(case.inputs)
    side_names = answer.unit_fields if answer.presentations > 1 else ()
    orders: list[list[Row]] = []
    for inputs in inputs_of_orders:
        values = {**gold.rows[case.id], **inputs, "case": case.id}
        key = tuple(_key(values.get(name)) for name in keys)
        sides = {name: _key(inputs[name]) for name in side_names}
        order_rows: list[Row] = []
        for row in rows_by_key.get(key, []):
            has_these_sides = all(_key(row.get(name, text)) == text for name, text in sides.items())
            is_of_another_order = any(row in other_rows for other_rows in orders)
            if has_these_sides and not is_of_another_order:
                order_rows.append(row)
        orders.append(order_rows)
    return orders


def _together(judge: Judge, orders: Sequence[Sequence[Reading]]) -> Reading:
    """Return the reading of a pair from its first readings in either order, in the order of the case."""
    in_case_order = orders[0]
    exchanged = [reading for readings in orders[1:] for reading in readings]
    if not exchanged:
        return in_case_order[0]
    first_exchanged = exchanged[0]
    if in_case_order:
        return judge.answer.join([in_case_order[0], first_exchanged])
    other_side = {FIRST: SECOND, SECOND: FIRST}
    turned_values = tuple(other_side.get(str(value), value) for value in first_exchanged.values)
    return judge.answer.join([replace(first_exchanged, values=turned_values), first_exchanged])


def _keys(rows: Sequence[Row], gold: Gold, cases: Sequence[Case], log: LogReference) -> list[str]:
    """Return the columns by which rows are found: an id that both have, else the inputs that both have.

    Raises:
        GoldError: they have neither.
    """
    log_columns = {key for row in rows for key in row}
    if _of_a_run(rows[0]) and not log.column:
        return _RUN
    for name in IDS:
        if name in log_columns and _tells_apart(name, rows, gold, cases):
            return [name]
    inputs: list[str] = []
    for name in gold.judge.input_fields:
        filled_rows = sum(1 for row in rows if _key(row.get(name)))
        if 2 * filled_rows > len(rows):
            inputs.append(name)
    if inputs:
        return inputs
    raise GoldError(
        f"the log has none of the columns that tell rows apart: {', '.join(gold.judge.input_fields)}, or an id",
        path=log.file,
        hint=f"the log has {', '.join(sorted(log_columns))}; give both files a column id",
    )


def _tells_apart(name: str, rows: Sequence[Row], gold: Gold, cases: Sequence[Case]) -> bool:
    """Whether a column is an id: distinct in most rows of the gold, and of more than one value in the log."""
    # Each row of the gold has an id of its own. A log may have several verdicts on each.
    gold_ids = [_key(gold.rows[case.id].get(name)) for case in cases]
    filled_ids = [key for key in gold_ids if key]
    distinct_ids = set(filled_ids)
    log_ids = {_key(row.get(name)) for row in rows}
    most_have_one = 2 * len(distinct_ids) > len(cases)
    return most_have_one and len(distinct_ids) == len(filled_ids) and len(log_ids) > 1


def _key(value: Any) -> str:
    """Return a value as rows are found by it; empty for none."""
    if value is None:
        return ""
    return normalised(value) if isinstance(value, str) else str(value)


def _reading(
    judge: Judge, mapping: RowMapping, case: Case, row: Row, columns: Sequence[str]
) -> Reading | None:
    """Return the reading of a log's row for a case; ``None`` if the row holds no answer of the judge."""
    if columns == ("units",):
        return Reading(values=unit_values(judge, row))
    if judge.answer.criteria:
        values = _values(judge, mapping, case, {name: row.get(name) for name in columns})
        has_value = any(value is not None for value in values)
        return Reading(values=values) if has_value else None
    cell = row.get(columns[0])
    if isinstance(cell, Mapping):
        return _shares(judge, cell)
    if isinstance(cell, str | int | float) and not _text(cell):
        return None
    probability = None if isinstance(cell, bool) else _number(_text(cell))
    if probability is not None:
        reading = _reading_of_probability(judge, probability)
        if reading:
            return reading
    values = _values(judge, mapping, case, {judge.answer.field: cell})
    if (not values or None in values) and isinstance(cell, str):
        values = _values_of_reply(judge, mapping, case, cell)
    if not values or None in values:
        return None
    return Reading(values=values)


def _reading_of_probability(judge: Judge, probability: float) -> Reading | None:
    """Return the reading of a probability of the positive label, of two; ``None`` for other judges and numbers."""
    scale = judge.answer.scale
    if not scale.has_probabilities or not 0 < probability < 1:
        return None
    labels = sorted(scale.domain, key=lambda label: scale.probability({label: 1.0}) or 0)
    if len(labels) != 2 or not scale.probability({labels[1]: 1.0}):
        return None
    negative, positive = labels
    likelier = positive if probability >= 0.5 else negative
    shares = {positive: probability, negative: 1 - probability}
    return Reading(values=(likelier,), probabilities=(shares,))


def _values_of_reply(judge: Judge, mapping: RowMapping, case: Case, cell: str) -> Values:
    """Return the values in a cell with a model's reply; none if the rules for replies read none."""
    field = judge.answer.field
    scale = judge.answer.scale
    try:
        fields = fields_of(cell, (field, *VERDICTS))
        answers = [value for name, value in fields if name == field]
        answers += [value for name, value in fields if name != field]
        if not answers and scale.domain:
            labels = [scale.text(label) for label in scale.domain]
            answers = [choice(cell, list(dict.fromkeys(labels)))]
    except ValueError:
        return ()
    if not answers:
        return ()
    return _values(judge, mapping, case, {field: answers[0]})


def _values(judge: Judge, mapping: RowMapping, case: Case, fields: Row) -> Values:
    """Return the values in some output fields, as gold has them; none if they cannot be read."""
    try:
        row = RowMapping(labels=mapping.labels).row(judge, {**case.inputs, **fields})
        judge_row = {name: row[name] for name in (*case.inputs, *fields) if name in row}
        return judge.case(judge.answer.gathered(judge_row)).gold or ()
    except GoldError:
        return ()


def _shares(judge: Judge, logged: Mapping[str, Any]) -> Reading | None:
    """Return the reading of a probability for each label; ``None`` if one is missing or out of range."""
    scale = judge.answer.scale
    share_of_text = {label.strip().casefold(): share for label, share in logged.items()}
    shares: dict[Value, Any] = {}
    for value in scale.domain:
        share = share_of_text.get(scale.text(value).casefold())
        if not isinstance(share, int | float) or not 0 <= share <= 1:
            return None
        shares[value] = share
    if not shares:
        return None
    likeliest = max(shares, key=shares.__getitem__)
    return Reading(values=(likeliest,), probabilities=(shares,))
