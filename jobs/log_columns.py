"""The rows of a log, its cells as text, and the columns that hold its verdicts and tell its rows apart."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..cases import Case
from ..engines.models import RECORDED
from ..errors import GoldError, as_data
from ..evaluation.scores import pointed
from ..gold.files import Row
from ..gold.goldset import Gold
from ..gold.paths import flat
from ..gold.rows import REASON, messages_or_text
from ..gold.sources import read
from ..keeping.loading import CHANGED
from ..keeping.logs import LogReference
from ..keeping.naming import BASIC
from ..programs.judge import Judge
from ..runs.outputs import lines_in
from ..text.turns import as_text
from ..text.wording import normalised

ID_COLUMNS = ("id", "case_id", "row_id", "example_id", "trace_id", "request_id", "uid", "case")
"""Columns that name a row, the surest first."""
VERDICT_COLUMNS = (
    "verdict",
    "judge",
    "judgement",
    "judgment",
    "judged",
    "prediction",
    "predicted",
    "label",
    "score",
    "result",
    "decision",
    "value",
)
"""Columns that hold what a judge said, the surest first."""
DESCRIBING_COLUMNS = (
    "group",
    "rater",
    REASON,
    "ratings",
    "confidence",
    "cost",
    "latency",
    "timestamp",
    "model",
    "created",
)
"""Columns that describe a row: they hold neither inputs nor verdicts."""
MOST_LABELS = 20
"""Distinct values above which a column of texts holds no labels."""
LONGEST_LABEL = 40
"""Characters of a label."""


def read_log_rows(log: LogReference) -> list[Row]:
    """Return the rows of a log, with what is nested in them by its path."""
    rows = list(iterate_flat_rows(log.file))
    if not rows:
        raise GoldError("there are no rows", path=log.file, hint="name a file with a verdict a row")
    if is_line_of_run(rows[0]) and isinstance(rows[0]["units"], str):  # a run that was written as CSV
        return [line for _, line in lines_in(Path(log.file))]
    return rows


def iterate_flat_rows(path: str) -> Iterator[Row]:
    """Yield the rows of a file, with what is nested in them by its path."""
    for _, row in read(path).rows:
        yield add_nested_values(row)


def add_nested_values(row: Row) -> Row:
    """Return a row that has its nested values under their paths, too, and chat messages as text."""
    nested = {**row, **dict(flat(row))}
    return {name: _join_messages(value) for name, value in nested.items()}


def is_line_of_run(row: Row) -> bool:
    """Whether a row is a line that ``jurist run`` wrote."""
    return {"case", "units", "judge"} <= row.keys()


def read_judge_name(log: LogReference) -> str:
    """Return the name of the judge whose run a log is; empty if it is none."""
    row = read_log_rows(log)[0]
    if not is_line_of_run(row):
        return ""
    reference = str(row["judge"])
    return reference.partition("@")[0].partition(CHANGED)[0].removesuffix(BASIC)


def columns_of_rows(rows: Iterable[Row]) -> list[str]:
    """Return the names of all columns of some rows, in the order in which they appear."""
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    return list(names)


def find_verdict_column(log: LogReference, rows: Sequence[Row]) -> str:
    """Return the column of a log that holds its verdicts: that of its name, else of a usual name, else like labels."""
    columns = columns_of_rows(rows)
    if log.column in columns:
        return log.column
    if log.column:
        problem = f"no row has the column {log.column!r}"
        raise GoldError(problem, path=log.file, hint=f"it has {', '.join(columns)}")
    column_of_lower_name: dict[str, str] = {}
    for column in columns:
        column_of_lower_name.setdefault(column.lower(), column)
    for name in VERDICT_COLUMNS:
        if name in column_of_lower_name:
            return column_of_lower_name[name]
    label_columns = find_columns_like_labels(rows, columns)
    if len(label_columns) == 1:
        return label_columns[0]
    problem = f"which column holds the answers is not clear: it has {', '.join(columns)}"
    raise GoldError(problem, path=log.file, hint=f"say which one it is: {RECORDED}{as_data(log.file)}#COLUMN")


def find_columns_like_labels(
    rows: Sequence[Row], columns: Iterable[str], log_columns: Collection[str] = ()
) -> list[str]:
    """Return the columns whose values repeat as labels do, without those of logs, of ids and of what describes rows."""
    label_columns: list[str] = []
    for column in columns:
        if column in log_columns or column.lower() in ID_COLUMNS or column.lower() in DESCRIBING_COLUMNS:
            continue
        if has_label_values(rows, column):
            label_columns.append(column)
    return label_columns


def has_label_values(rows: Sequence[Row], column: str) -> bool:
    """Whether the values of a column are few and short, as labels are."""
    values = {cell_text(row.get(column)).casefold() for row in rows}
    are_few = len(values) <= min(MOST_LABELS, max(4, len(rows) // 2))
    return are_few and max(map(len, values)) <= LONGEST_LABEL


@dataclass(frozen=True, kw_only=True)
class LogColumns:
    """The columns by which rows of a log are joined with cases, and those with its verdicts."""

    keys: Sequence[str]
    verdicts: Sequence[str]
    has_case_ids: bool  # whether the only key is the id of a case, as ``jurist run`` writes it
    has_units: bool  # whether verdicts stand in ``units``, as ``jurist run`` writes them


def find_log_columns(log: LogReference, rows: Sequence[Row], gold: Gold, cases: Sequence[Case]) -> LogColumns:
    """Return the columns of a log that are read for these cases of gold.

    Raises:
        GoldError: no column tells rows apart, or it is not clear which one holds verdicts.
    """
    is_run = is_line_of_run(rows[0])
    if is_run and not log.column:
        return LogColumns(keys=("case",), verdicts=("units",), has_case_ids=True, has_units=True)
    keys = _find_keys(rows, gold, cases, log)
    verdicts = _find_answer_columns(log, rows, gold.judge)
    return LogColumns(
        keys=keys,
        verdicts=verdicts,
        has_case_ids=False,
        has_units=is_run and verdicts == ("units",),
    )


def _find_answer_columns(log: LogReference, rows: Sequence[Row], judge: Judge) -> tuple[str, ...]:
    """Return the columns of a log with the judge's answers: one, or one for each criterion."""
    if not judge.answer.criteria:
        return (find_verdict_column(log, rows),)
    fields = judge.answer.fields
    if log.column or not set(columns_of_rows(rows)).issuperset(fields):
        raise GoldError(
            f"{judge.name} gives {', '.join(fields)}, and {log.name} does not give all of them",
            path=log.file,
            hint="name a log with a column for each, without #COLUMN",
        )
    return fields


def _find_keys(rows: Sequence[Row], gold: Gold, cases: Sequence[Case], log: LogReference) -> list[str]:
    """Return the columns by which rows are found: an id that both have, else the inputs that both have."""
    columns = set(columns_of_rows(rows))
    for name in ID_COLUMNS:
        if name in columns and _is_id_of_both(name, rows, gold, cases):
            return [name]
    inputs: list[str] = []
    for name in gold.judge.input_fields:
        filled_rows = 0
        for row in rows:
            if match_text(row.get(name)):
                filled_rows += 1
        if 2 * filled_rows > len(rows):
            inputs.append(name)
    if inputs:
        return inputs
    raise GoldError(
        f"the log has none of the columns that tell rows apart: {', '.join(gold.judge.input_fields)}, or an id",
        path=log.file,
        hint=f"the log has {', '.join(sorted(columns))}; give both files a column id",
    )


def _is_id_of_both(name: str, rows: Sequence[Row], gold: Gold, cases: Sequence[Case]) -> bool:
    """Whether a column is an id: distinct in most rows of the gold, and of several values in the log."""
    # Each row of the gold has an id of its own. A log may have several verdicts on each.
    gold_ids: list[str] = []
    for case in cases:
        gold_id = match_text(case.row.get(name))
        if gold_id:
            gold_ids.append(gold_id)
    distinct_ids = set(gold_ids)
    log_ids = {match_text(row.get(name)) for row in rows}
    most_have_one = 2 * len(distinct_ids) > len(cases)
    return most_have_one and len(distinct_ids) == len(gold_ids) and len(log_ids) > 1


def row_key(row: Mapping[str, object], keys: Sequence[str]) -> tuple[str, ...]:
    """Return the values by which a row is found, one for each column of ``keys``."""
    return tuple(match_text(row.get(name)) for name in keys)


def match_text(value: object) -> str:
    """Return a value as text that is compared between a log and gold; empty for none."""
    if value is None:
        return ""
    text = _join_messages(value)
    if isinstance(text, str):
        return normalised(text)
    return str(text)


def _join_messages(value: object) -> object:
    """Return chat messages, in a list or in a cell, as the text that gold has for them; any other value as it is."""
    content = messages_or_text(value)
    return as_text(content) if isinstance(content, list) else value


def cell_text(value: object) -> str:
    """Return a cell as text; empty for a structure and for words of an empty cell, such as ``nan``."""
    if not isinstance(value, str | bool | int | float):
        return ""
    text = str(value).strip()
    is_empty = text.lower() in ("nan", "none", "null", "n/a")
    return "" if is_empty else text


def parse_number(text: str) -> float | None:
    """Return a cell as a number; ``None`` if it is none."""
    try:
        return float(pointed(text))
    except ValueError:
        return None
