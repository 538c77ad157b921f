"""Columns of a log and of the gold: which one holds the answers, and what the labels are where no judge says so."""

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import dspy

from ..errors import GoldError, UsageError
from ..gold.files import Row
from ..gold.goldset import Gold
from ..gold.rows import REASON, is_rating
from ..gold.shape import flat
from ..gold.sources import read
from ..keeping.recorded import RecordedJudge
from ..programs.judge import Judge
from ..programs.records import records

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


def inferred_judge(
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
        answers = [(verdict_column(one, logs[one.name]), logs[one.name]) for one in recorded]
        said.update(cell_text(row.get(column)) for column, log in answers for row in log)
        hint = "say which one it is: --column THEIRS=label"
        label = _column(rows, "", LABELS, named or "gold", hint, {one.casefold() for one in said})
        labels = {label: said}
    kinds = {name: _kind_of([cell_text(row.get(name)) for row in rows], own) for name, own in labels.items()}
    own = {one.column for one in recorded if one.file == named}
    shared = [
        name
        for name in dict.fromkeys(key for row in rows for key in row)
        if _plain(name).isidentifier() and name not in (*labels, *own)
        if name.lower().rpartition(".")[2] not in (*IDS, *_ABOUT)
        if not is_rating(name) and all(isinstance(row.get(name), str) and row[name].strip() for row in rows)
    ]
    keys = [name for name in IDS if rows and all(cell_text(row.get(name)) for row in rows)]
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
        ours, theirs = (Counter(cell_text(row.get(name)) for row in some) for some in (rows, log))
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
    numbers = [cell_number(value) for value in (*truths, *said)]
    if all(one is not None for one in numbers[: len(truths)]):
        known = [one for one in numbers if one is not None]
        whole = all(one == round(one) for one in known)
        return (int if whole else float), {"ge": min(known), "le": max(known)}
    counts = Counter(value.casefold() for value in truths)
    # what a log says once and people never is no label of theirs
    texts = Counter(truths)
    texts.update({one: count for one, count in said.items() if count > 1 and cell_number(one) is None})
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


def cell_number(value: str) -> float | None:
    """Return a cell as a number; ``None`` if it is none."""
    try:
        return float(value)
    except ValueError:
        return None


def verdict_column(judge: RecordedJudge, rows: Sequence[Row]) -> str:
    """Return the column of a log that holds its verdicts."""
    hint = f"say which one it is: recorded:{judge.file}#COLUMN"
    return _column(rows, judge.column, VERDICTS, judge.file, hint)


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
    alike = [name for name in few if {cell_text(row.get(name)).casefold() for row in rows} & set(said) - {""}]
    if len(alike) == 1 or len(few) == 1:
        return (alike or few)[0]
    raise GoldError(
        f"which column holds the answers is not clear: it has {', '.join(have)}", path=path, hint=hint
    )


def _says(rows: Sequence[Row], name: str) -> bool:
    """Whether a column may hold answers: few texts, or numbers, or a probability of each label."""
    cells = [row[name] for row in rows if name in row and row[name] not in (None, "")]
    return _is_label(rows, name) or all(
        isinstance(one, Mapping) or cell_number(cell_text(one)) is not None for one in cells
    )


def _is_label(rows: Sequence[Row], name: str) -> bool:
    values = Counter(cell_text(row.get(name)).casefold() for row in rows)
    return len(values) <= min(_FEW, max(4, len(rows) // 2)) and max(map(len, values)) <= _LONGEST


def cell_text(value: Any) -> str:
    """Return a cell as text, empty for none and for what is not a number."""
    text = str(value).strip() if isinstance(value, str | bool | int | float) else ""
    return "" if text.lower() in ("", "nan", "none", "null", "n/a") else text
