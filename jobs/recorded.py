"""Verdicts of a log held against gold: which column says what, which row is which, and what the labels are."""

import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

import dspy

from ..cases import Case, Value, text_hash
from ..errors import GoldError, UsageError, plural
from ..gold.files import Row
from ..gold.goldset import Gold
from ..gold.mapping import RowMapping
from ..gold.rows import REASON, is_rating
from ..gold.shape import flat
from ..gold.sources import read
from ..keeping.loading import LoadedJudge
from ..keeping.naming import BASIC
from ..keeping.recorded import RecordedJudge
from ..programs.answers.base import Reading
from ..programs.judge import Judge
from ..programs.records import records
from ..runs.lines import values_said
from ..text.wording import normalised

IDS = ("id", "case_id", "row_id", "example_id", "trace_id", "request_id", "uid", "case")
"""Columns that name a row, the surest first."""
LABELS = (
    *("label", "gold", "human", "human_label", "expected", "target", "truth", "ground_truth", "annotation"),
    *("rating", "verdict", "score", "preference", "answer"),
)
"""Columns that hold what people said, the surest first."""
VERDICTS = (
    *("verdict", "judge", "judgement", "judgment", "judged", "prediction", "predicted", "label", "score"),
    *("output", "result", "decision", "value", "answer"),
)
"""Columns that hold what a judge said, the surest first."""
_RUN = ["case"]  # by what the lines of ``jurist run`` are found
_ABOUT = (
    *("group", "rater", REASON, "ratings", "confidence"),
    *("cost", "latency", "timestamp", "model", "created"),
)
_WORDS = {"true": True, "yes": True, "false": False, "no": False, "1": True, "0": False}
_BAD = (
    *("bad", "block", "error", "fail", "hallucinat", "hold", "incorrect", "invalid"),
    *("not", "reject", "unsafe", "wrong"),
)
_FEW = 20  # values above which a column of texts is no column of labels
_LONGEST = 40  # characters of a label


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
        stamped = next((row["judge"] for one in recorded for row in logs[one.name][:1] if _of_a_run(row)), "")
        named = str(stamped).partition("@")[0].removesuffix(BASIC)
        judge = find(named) if named else _inferred(recorded, logs, gold, columns)
    cases = read_gold(gold, judge)
    made = [
        _joined(one, logs[one.name], cases) if isinstance(one, RecordedJudge) else one for one in contenders
    ]
    return tuple(made), cases


def _of_a_run(row: Mapping[str, Any]) -> bool:
    return {"case", "units", "judge"} <= row.keys()


def _log(judge: RecordedJudge) -> list[Row]:
    rows = [{**row, **dict(flat(row))} for _, row in read(judge.file).rows]
    if not rows:
        raise GoldError("there are no rows", path=judge.file, hint="name a file with a verdict a row")
    return rows


def _column(
    rows: Sequence[Row], wanted: str, names: Sequence[str], path: str, hint: str, said: Collection[str] = ()
) -> str:
    """Return the column of answers: the one that is named, else of a usual name, else the only one like labels."""
    have = list(dict.fromkeys(key for row in rows for key in row))
    lower = {name.lower(): name for name in reversed(have)}
    if wanted:
        if wanted in have:
            return wanted
        raise GoldError(f"no row has the column {wanted!r}", path=path, hint=f"it has {', '.join(have)}")
    if found := next((lower[name] for name in names if name in lower and _says(rows, lower[name])), None):
        return found
    few = [name for name in have if name.lower() not in (*IDS, *_ABOUT) and _is_label(rows, name)]
    alike = [name for name in few if {_text(row.get(name)).casefold() for row in rows} & set(said) - {""}]
    if len(alike) == 1 or len(few) == 1:
        return (alike or few)[0]
    raise GoldError(
        f"which column holds the answers is not clear: it has {', '.join(have)}", path=path, hint=hint
    )


def _says(rows: Sequence[Row], name: str) -> bool:
    """Whether a column may hold answers: few texts, or numbers, or a probability of each label."""
    cells = [row[name] for row in rows if name in row and row[name] not in (None, "")]
    return _is_label(rows, name) or all(
        isinstance(one, Mapping) or _number(_text(one)) is not None for one in cells
    )


def _is_label(rows: Sequence[Row], name: str) -> bool:
    values = Counter(_text(row.get(name)).casefold() for row in rows)
    return len(values) <= min(_FEW, max(4, len(rows) // 2)) and max(map(len, values)) <= _LONGEST


def _text(value: Any) -> str:
    """Return a cell as text, empty for none and for what is not a number."""
    text = str(value).strip() if isinstance(value, str | bool | int | float) else ""
    return "" if text.lower() in ("", "nan", "none", "null", "n/a") else text


# -- what the labels are, where no judge says so ---------------------------------------------------------------


def _inferred(
    recorded: Sequence[RecordedJudge], logs: Mapping[str, list[Row]], gold: Any, columns: Mapping[str, str]
) -> Judge:
    """Return a judge of the values that the gold and the logs hold, of whatever else the gold's rows hold."""
    if isinstance(gold, Gold):
        return gold.judge
    named = os.fspath(gold) if isinstance(gold, str | os.PathLike) else ""
    found = [row for _, row in read(named).rows] if named else list(records(gold, "gold"))
    rows = [
        {columns.get(key, key): value for key, value in {**row, **dict(flat(row))}.items()} for row in found
    ]
    several = _criteria(recorded, logs, rows)
    labels, said = several or {}, Counter[str]()
    if not several:
        answers = [(_verdicts(one, logs[one.name]), logs[one.name]) for one in recorded]
        said.update(_text(row.get(column)) for column, log in answers for row in log)
        hint = "say which one it is: --column THEIRS=label"
        label = _column(rows, "", LABELS, named or "gold", hint, {one.casefold() for one in said})
        labels = {label: said}
    kinds = {name: _kind_of([_text(row.get(name)) for row in rows], own) for name, own in labels.items()}
    own = {one.column for one in recorded if one.file == named}
    shared = [
        name
        for name in dict.fromkeys(key for row in rows for key in row)
        if _plain(name).isidentifier() and name not in (*labels, *own)
        if name.lower().rpartition(".")[2] not in (*IDS, *_ABOUT)
        if not is_rating(name) and all(isinstance(row.get(name), str) and row[name].strip() for row in rows)
    ]
    keys = [name for name in IDS if rows and all(_text(row.get(name)) for row in rows)]
    inputs = [name for name in shared if not _is_label(rows, name)] or shared or keys[:1]
    if not inputs or not all(_plain(name).isidentifier() for name in labels):
        raise GoldError(
            "the rows hold no texts that tell them apart, or their columns have no plain names",
            path=named,
            hint="name the judge's columns with letters, digits and _, or hold the log beside a judge: "
            "jurist compare JUDGE recorded:FILE --gold F",
        )
    signature = dspy.make_signature(
        {
            **{_plain(name): (str, dspy.InputField()) for name in inputs},
            **{
                _plain(name): (kind, dspy.OutputField(**{k: about[k] for k in ("ge", "le") if k in about}))
                for name, (kind, about) in kinds.items()
            },
        },
        "Say what the log says.",
        "Recorded",
    )
    paths = {name: _plain(name) for name in (*inputs, *labels) if name != _plain(name)}
    positive = {_plain(name): about["positive"] for name, (_, about) in kinds.items() if "positive" in about}
    return Judge(
        name="recorded",
        signature=signature,
        positive=positive if several else next(iter(positive.values()), ()),
        columns=paths,
    )


def _criteria(
    recorded: Sequence[RecordedJudge], logs: Mapping[str, list[Row]], rows: Sequence[Row]
) -> dict[str, Counter[str]]:
    """Return the columns of labels that one log without a usual column and the gold both have, with what it says.

    A column that holds the same in both tells of the row and not of a verdict.
    """
    log = logs[recorded[0].name]
    lower = {key.lower() for row in log for key in row}
    if len(recorded) > 1 or recorded[0].column or lower & {*VERDICTS}:
        return {}
    found = {}
    for name in dict.fromkeys(key for row in log for key in row if key.lower() not in (*IDS, *_ABOUT)):
        ours, theirs = (Counter(_text(row.get(name)) for row in some) for some in (rows, log))
        if any(ours.keys() - {""}) and ours != theirs and _is_label(log, name) and _is_label(rows, name):
            found[name] = theirs
    return found if len(found) > 1 else {}


def _plain(path: str) -> str:
    """Return the name of the field that is read from a path, as ``scores_overall``."""
    return path.replace(".", "_")


def _kind_of(cells: Sequence[str], given: Mapping[str, int]) -> tuple[Any, dict[str, Any]]:
    """Return the type of an answer whose values are these, with its range or its positive label.

    ``given`` is what logs say, with how often.
    """
    truths, said = [one for one in cells if one], {one: count for one, count in given.items() if one}
    if not truths:
        raise UsageError(
            "no row of the gold has a label", hint="say which column holds it: --column THEIRS=label"
        )
    folded = {value.casefold() for value in truths}
    if folded <= _WORDS.keys():
        return bool, {"positive": "true"}
    numbers = [_number(value) for value in (*truths, *said)]
    if all(one is not None for one in numbers[: len(truths)]):
        known = [one for one in numbers if one is not None]
        whole = all(one == round(one) for one in known)
        return (int if whole else float), {"ge": min(known), "le": max(known)}
    counts = Counter(value.casefold() for value in truths)
    # what a log says once and people never is no label of theirs
    texts = Counter(truths)
    texts.update({one: count for one, count in said.items() if count > 1 and _number(one) is None})
    spelled = {value.casefold(): value for value, _ in reversed(texts.most_common())}
    labels = sorted(spelled.values())
    if len(labels) > _FEW:
        raise UsageError(
            f"{len(labels)} different labels are no labels: {', '.join(labels[:5])}, ...",
            hint="say which columns hold them: recorded:FILE#COLUMN, --column THEIRS=label",
        )
    bad = [one for one in labels if one.casefold().startswith(_BAD)]
    rare = min(labels, key=lambda one: (counts[one.casefold()] or len(truths), one))
    return Literal[*labels], {"positive": bad[0] if len(bad) == 1 else rare}


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


# -- which row is which ----------------------------------------------------------------------------------------


def _verdicts(judge: RecordedJudge, rows: Sequence[Row]) -> str:
    hint = f"say which one it is: recorded:{judge.file}#COLUMN"
    return _column(rows, judge.column, VERDICTS, judge.file, hint)


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
        column, several = _verdicts(judge, rows), ()
    by_key: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        by_key.setdefault(tuple(_key(row.get(name)) for name in keys), []).append(row)
    said, unreadable, twice, used = dict[str, Reading](), list[str](), 0, 0
    for case in cases:
        own = {**gold.rows[case.id], **case.inputs, "case": case.id}
        found = by_key.get(tuple(_key(own.get(name)) for name in keys), [])
        used += len(found)
        readings = [
            Reading(values=values_said(gold.judge, row))
            if keys == _RUN
            else _readings(gold.judge, RowMapping(labels=mapping.labels), case, row, several)
            if several
            else _reading(gold.judge, RowMapping(labels=mapping.labels), case, row.get(column))
            for row in found
        ]
        known = {reading.values for reading in readings if reading}
        twice += len(known) > 1
        if len(known) == 1:
            said[case.id] = next(reading for reading in readings if reading)
        elif found and not known:
            unreadable.append(_text(found[0].get(column)) or "nothing")
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
    if isinstance(value, str | int | float) and not _text(value):
        return None
    number = None if isinstance(value, bool) else _number(_text(value))
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
