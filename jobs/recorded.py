"""Verdicts of a log held against gold: which row is which, and what the log says of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..cases import Case, Value, Values, text_hash
from ..engines.detectors import RECORDED
from ..errors import GoldError, UsageError, plural
from ..gold.files import Row
from ..gold.goldset import Gold
from ..gold.mapping import RowMapping
from ..gold.shape import flat
from ..gold.sources import read
from ..keeping.loading import LoadedJudge
from ..keeping.naming import BASIC
from ..keeping.recorded import RecordedJudge
from ..programs.answers.base import Reading
from ..programs.judge import Judge
from ..runs.lines import values_said
from ..text.wording import normalised
from .log_columns import IDS, cell_number, cell_text, inferred_judge, verdict_column

_RUN = ["case"]  # by what the lines of ``jurist run`` are found


def held_against(
    contenders: Sequence[LoadedJudge],
    judge: Judge,
    gold: Any,
    read_gold: Callable[[Any, Judge], Gold],
    find: Callable[[str], Judge],
    columns: Mapping[str, str],
) -> tuple[tuple[LoadedJudge, ...], Gold]:
    """Return the judges, those of logs with what they say of the gold, and the gold."""
    recorded = [one for one in contenders if isinstance(one, RecordedJudge)]
    logs = {one.name: _log(one) for one in recorded}
    if recorded and len(recorded) == len(contenders):
        judge = _judge_of(recorded, logs, gold, find, columns)
    cases = read_gold(gold, judge)
    made = [
        _joined(one, logs[one.name], cases) if isinstance(one, RecordedJudge) else one for one in contenders
    ]
    return tuple(made), cases


def log_against(
    name: str,
    gold: Any,
    read_gold: Callable[[Any, Judge], Gold],
    find: Callable[[str], Judge],
    columns: Mapping[str, str],
) -> tuple[RecordedJudge, Gold]:
    """Return the judge of one log with what it says of the gold, and the gold."""
    log = RecordedJudge.of(name, None)
    rows = _log(log)
    cases = read_gold(gold, _judge_of([log], {log.name: rows}, gold, find, columns))
    return _joined(log, rows, cases), cases


def _judge_of(
    recorded: Sequence[RecordedJudge],
    logs: Mapping[str, list[Row]],
    gold: Any,
    find: Callable[[str], Judge],
    columns: Mapping[str, str],
) -> Judge:
    """Return the judge whose runs the logs are, else one of the labels that they and the gold hold."""
    stamped = next((row["judge"] for one in recorded for row in logs[one.name][:1] if _of_a_run(row)), "")
    named = str(stamped).partition("@")[0].removesuffix(BASIC)
    return find(named) if named else inferred_judge(recorded, logs, gold, columns)


def logs_beside(names: Sequence[str], gold: Gold) -> tuple[RecordedJudge, ...]:
    """Return the judges of logs, each with what it says of the gold."""
    for name in names:
        if not name.startswith(f"{RECORDED}:"):
            said = f"{name} is no log of verdicts"
            raise UsageError(
                said, hint=f"write {RECORDED}:FILE; compare asks judges: jurist compare {name} ..."
            )
    logs = [RecordedJudge.of(name, None) for name in dict.fromkeys(names)]
    return tuple(_joined(one, _log(one), gold) for one in logs)


def _of_a_run(row: Mapping[str, Any]) -> bool:
    return {"case", "units", "judge"} <= row.keys()


def _log(judge: RecordedJudge) -> list[Row]:
    rows = [{**row, **dict(flat(row))} for _, row in read(judge.file).rows]
    if not rows:
        raise GoldError("there are no rows", path=judge.file, hint="name a file with a verdict a row")
    return rows


def _joined(judge: RecordedJudge, rows: Sequence[Row], gold: Gold) -> RecordedJudge:
    """Return the judge with what its log says of each case of the gold, and how the rows were found in its note."""
    cases, mapping = (*gold.cases, *gold.ambiguous), RowMapping(**gold.mapping)
    columns = {**gold.judge.columns, **mapping.columns}
    ours = {path: name for path, name in columns.items() if name in gold.judge.input_fields}
    rows = [{**row, **{name: row[path] for path, name in ours.items() if path in row}} for row in rows]
    keys = _keys(rows, gold, cases, judge.column)
    several = gold.judge.answer.fields if len(gold.judge.answer.fields) > 1 and not judge.column else ()
    if keys == _RUN:
        column = "units"
    elif several and {name for row in rows for name in row}.issuperset(several):
        column = ", ".join(several)
    else:
        column, several = verdict_column(judge, rows), ()
    by_key: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        by_key.setdefault(tuple(_key(row.get(name)) for name in keys), []).append(row)

    def read_row(case: Case, row: Row) -> Reading | None:
        if keys == _RUN:
            return Reading(values=values_said(gold.judge, row))
        if several:
            return _readings(gold.judge, RowMapping(labels=mapping.labels), case, row, several)
        return _reading(gold.judge, RowMapping(labels=mapping.labels), case, row.get(column))

    said, unreadable, twice, used = dict[str, Reading](), list[str](), 0, 0
    for case in cases:
        orders = _orders(gold, case, keys, by_key)
        found = [row for order in orders for row in order]
        used += len(found)
        readings = [[one for row in order if (one := read_row(case, row))] for order in orders]
        if any(len({one.values for one in order}) > 1 for order in readings):
            twice += 1
        elif reading := gold.judge.answer.together(*[next(iter(order), None) for order in readings]):
            said[case.id] = reading
        elif found:
            unreadable.append(cell_text(found[0].get(column)) or "nothing")
    if not used:
        raise GoldError(
            f"none of the {plural(len(cases), 'labelled row')} is in the log by {' and '.join(keys)}",
            path=judge.file,
            hint="give both files the same id column, or the same inputs, word for word",
        )
    parts = [f"{judge.name}: the column {column!r} of {plural(used, 'row')}, found by {' and '.join(keys)}"]
    if missing := len(cases) - len(said) - len(unreadable) - twice:
        example = next(case for case in cases if case.id not in said)
        parts.append(f"{plural(missing, 'labelled row')} not in it, such as {example.source}")
    parts += [f"{plural(len(rows) - used, 'row')} of it without a label"] if len(rows) > used else []
    parts += [f"{plural(twice, 'row')} with verdicts that contradict each other"] if twice else []
    parts += (
        [f"{plural(len(unreadable), 'row')} without a label of the gold, such as {unreadable[0]!r}"]
        if unreadable
        else []
    )
    sha = text_hash(repr(sorted((id_, one.values, one.probabilities) for id_, one in said.items())))
    return judge.on_gold(gold.judge, said, sha, "; ".join(parts))


def _orders(
    gold: Gold, case: Case, keys: Sequence[str], by_key: Mapping[tuple[str, ...], list[Row]]
) -> list[list[Row]]:
    """Return the rows of a log that are of a case: those of a pair as it is, and those with its two exchanged."""
    answer, orders = gold.judge.answer, list[list[Row]]()
    for inputs in answer.asks(case.inputs) if keys != _RUN else [case.inputs]:
        own = {**gold.rows[case.id], **inputs, "case": case.id}
        found = by_key.get(tuple(_key(own.get(name)) for name in keys), [])
        if answer.presentations > 1:
            sides = {name: _key(inputs[name]) for name in answer.unit_fields}
            found = [
                row for row in found if all(_key(row.get(name, sides[name])) == sides[name] for name in sides)
            ]
        orders.append([row for row in found if not any(row in other for other in orders)])
    return orders


def said_of_every_row(log: RecordedJudge, gold: Gold) -> Iterator[tuple[str, Values]]:
    """Yield the group of each row of a log, labelled or not, and what the log says of it."""
    rows, mapping, asker = _log(log), RowMapping(labels=RowMapping(**gold.mapping).labels), log.asker()
    of_a_run = _of_a_run(rows[0]) and not log.column
    column, like = "" if of_a_run else verdict_column(log, rows), gold.cases[0]
    for number, row in enumerate(rows):
        if of_a_run:
            reading: Reading | None = Reading(values=values_said(gold.judge, row))
        else:
            reading = _reading(gold.judge, mapping, like, row.get(column))
        group = cell_text(row.get("group")) or f"row {number}"
        yield group, asker.verdict_of(like, reading).values if reading else (None,)


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
    return normalised(value) if isinstance(value, str) else str(value)


def _reading(judge: Judge, mapping: RowMapping, case: Case, value: Any) -> Reading | None:
    """Return what a cell of the log says of a case; ``None`` if it says no answer of the judge."""
    field, scale = judge.answer.field, judge.answer.scale
    if isinstance(value, Mapping):
        return _shares(judge, {str(label): share for label, share in value.items()})
    if isinstance(value, str | int | float) and not cell_text(value):
        return None
    number = None if isinstance(value, bool) else cell_number(cell_text(value))
    if number is not None and scale.has_probabilities and 0 <= number <= 1 and number not in (0, 1):
        (positive,) = [one for one in scale.domain if scale.probability({one: 1.0})][:1]
        rest = [one for one in scale.domain if one != positive]
        if len(rest) == 1:
            shares = {positive: number, rest[0]: 1 - number}
            return Reading(values=(max(shares, key=shares.__getitem__),), probabilities=(shares,))
    try:
        row = mapping.row(judge, {**case.inputs, field: value})
        gold = judge.case({name: row[name] for name in (*case.inputs, field)}).gold
    except GoldError:
        return None
    return None if gold is None or None in gold else Reading(values=gold)


def _readings(
    judge: Judge, mapping: RowMapping, case: Case, row: Row, fields: Sequence[str]
) -> Reading | None:
    """Return what the cells of the log say of each criterion; ``None`` if none says an answer of the judge."""
    values = list[Value | None]()
    for place, field in enumerate(fields):
        try:
            said = mapping.row(judge, {**case.inputs, field: row.get(field)})
            gold = judge.case(judge.answer.gathered(said)).gold
        except GoldError:
            gold = None
        values.append(gold[place] if gold else None)
    return Reading(values=tuple(values)) if any(value is not None for value in values) else None


def _shares(judge: Judge, told: Mapping[str, Any]) -> Reading | None:
    """Return the reading of a probability for each label."""
    known, scale = {label.strip().casefold(): share for label, share in told.items()}, judge.answer.scale
    texts = {value: scale.text(value).casefold() for value in scale.domain}
    shares = {value: known[text] for value, text in texts.items() if text in known}
    if not shares or not all(isinstance(one, int | float) and 0 <= one <= 1 for one in shares.values()):
        return None
    return Reading(values=(max(shares, key=shares.__getitem__),), probabilities=(shares,))
