"""Joining a log of verdicts with gold: the log's verdict on each case, and notes on which rows were matched.

An order is one way to present a case. Most judges have one; for a pair there are two, as the log may have a row for
each.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import quote

from ..cases import Case, Value, text_hash
from ..engines.models import RECORDED
from ..errors import ArtifactError, GoldError, UsageError, as_data, plural
from ..evaluation.closed_labels import FIRST, SECOND
from ..gold.columns import find_columns
from ..gold.files import Row
from ..gold.goldset import Gold
from ..gold.mapping import RowMapping
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.loading import CHANGED
from ..keeping.logs import Log, LogReference
from ..programs.answers.base import Inputs
from ..programs.judge import Judge
from ..programs.verdicts import Verdict
from .log_columns import (
    LogColumns,
    cell_text,
    find_log_columns,
    is_line_of_run,
    match_text,
    read_log_rows,
    row_key,
)
from .log_judge import RECORDED_JUDGE
from .log_verdicts import read_rows_of_case

_LISTED_WORDS = 4  # words of a log that an error lists


def read_logs_beside(names: Sequence[str], gold: Gold) -> tuple[Log, ...]:
    """Return the logs of these names, each once, with their verdicts on the gold."""
    for name in names:
        if not name.startswith(RECORDED):
            hint = f"write {RECORDED}FILE; compare asks judges: jurist compare {name} ..."
            raise UsageError(f"{name} is no log of verdicts", hint=hint)
    logs: list[Log] = []
    for name in dict.fromkeys(names):
        logs.append(read_log(LogReference.of(name), gold))
    return tuple(logs)


@dataclass
class _Joining:
    """The verdicts of a log on the cases of gold, and counts of cases and rows for the notes."""

    verdict_of_id: dict[str, Verdict]  # case id -> its verdict in the log
    unreadable: list[str]  # the verdicts that are no label of the gold
    contradicted: int = 0  # the number of cases whose verdicts in the log contradict each other
    repeated: int = 0  # the number of cases with several verdicts in the log
    matched_rows: int = 0  # the number of rows of the log that belong to a case


def read_log(log: LogReference, gold: Gold, store: Store | None = None) -> Log:
    """Return a log with its verdict on each case of the gold; its note says how rows were matched with cases.

    Args:
        log: the file, and its column.
        gold: the labelled cases.
        store: where the versions are that gave the verdicts, as lines of ``jurist run`` name them; ``None`` where
            nobody asks on which rows these were compiled.

    Raises:
        GoldError: no row of the log belongs to the gold, or no verdict is a label of the gold.
    """
    cases = list(gold.cases) + list(gold.ambiguous)
    mapping = RowMapping.of_json(gold.mapping)
    rows = _name_by_field(read_log_rows(log), gold, mapping)
    columns = find_log_columns(log, rows, gold, cases)
    joining = _join_rows(rows, cases, gold, mapping, columns)
    if not joining.matched_rows:
        raise GoldError(
            f"none of the {plural(len(cases), 'labelled row')} is in the log by {' and '.join(columns.keys)}",
            path=log.file,
            hint="give both files the same id column, or the same inputs, word for word",
        )
    if joining.unreadable and not joining.verdict_of_id and not joining.contradicted:
        raise _no_label_error(log, gold, columns, joining.unreadable)
    notes = _joining_notes(joining, log, gold, cases, columns, len(rows))
    versions: list[Artifact] = []
    if store is not None:
        versions = _find_versions(rows, store, notes)
    return Log(
        reference=log,
        judge=gold.judge,
        verdict_of_id=joining.verdict_of_id,
        sha256=_hash_verdicts(joining),
        note="; ".join(notes),
        versions=tuple(versions),
    )


def _find_versions(rows: Sequence[Row], store: Store, notes: list[str]) -> list[Artifact]:
    """Return the versions that gave the verdicts of a log of ``jurist run``; add notes on rows that are not known."""
    sha256_of_ref: dict[str, object] = {}
    has_changed_prompt = False
    for row in rows:
        if is_line_of_run(row):
            ref, changed, _ = str(row["judge"]).partition(CHANGED)
            has_changed_prompt = has_changed_prompt or bool(changed)
            if "@" in ref:
                sha256_of_ref.setdefault(ref, row.get("artifact"))
    versions: list[Artifact] = []
    for ref, sha256 in sha256_of_ref.items():
        try:
            version = store.load(ref)
        except (ArtifactError, UsageError):
            version = None
        if version is None or sha256 not in (None, "", version.sha256):
            notes.append(
                f"{store.root} has not the {ref} that gave them: rows that it was compiled on are scored, too"
            )
        else:
            versions.append(version)
    if has_changed_prompt:
        notes.append("a prompt was changed before it gave them, and the log does not say which rows it shows")
    return versions


def _hash_verdicts(joining: _Joining) -> str:
    """Return the SHA-256 of a log's verdicts: it identifies the verdicts that were compared."""
    verdicts = []
    for case_id, verdict in joining.verdict_of_id.items():
        verdicts.append((case_id, verdict.values, verdict.probabilities))
    return text_hash(repr(sorted(verdicts)))


def _name_by_field(rows: Sequence[Row], gold: Gold, mapping: RowMapping) -> list[Row]:
    """Return the rows of a log with each input of the judge also under its field's name, as gold has it."""
    input_fields = gold.judge.input_fields
    input_columns: dict[str, str] = {}
    for path, name in {**gold.judge.columns, **mapping.columns}.items():
        if name in input_fields:
            input_columns[path] = name
    renamed_rows: list[Row] = []
    for row in rows:
        renamed = dict(row)
        for path, name in {**find_columns(row, input_fields), **input_columns}.items():
            if path in row:
                renamed[name] = row[path]
        renamed_rows.append(renamed)
    return renamed_rows


def _join_rows(
    rows: Sequence[Row], cases: Sequence[Case], gold: Gold, mapping: RowMapping, columns: LogColumns
) -> _Joining:
    """Match the rows of a log with cases, and read the verdict on each case from its rows."""
    rows_by_key = _index_rows(rows, columns.keys)
    joining = _Joining(verdict_of_id={}, unreadable=[])
    for case in cases:
        orders = _find_rows_of_case(case, gold, columns, rows_by_key)
        case_rows: list[Row] = []
        for order_rows in orders:
            case_rows.extend(order_rows)
        joining.matched_rows += len(case_rows)
        if any(len(order_rows) > 1 for order_rows in orders):
            joining.repeated += 1

        verdicts_by_order: list[Verdict | None] = []  # for each order that of most rows, if there is one
        is_contradicted = False
        for order_rows in orders:
            verdicts = read_rows_of_case(gold.judge, mapping, case, order_rows, columns)
            settled = _settle_verdicts(gold.judge, verdicts)
            verdicts_by_order.append(settled)
            if verdicts and settled is None:
                is_contradicted = True
        if is_contradicted:
            joining.contradicted += 1
            continue
        verdict = _join_orders(gold.judge, verdicts_by_order)
        if verdict:
            joining.verdict_of_id[case.id] = verdict
        elif case_rows:
            joining.unreadable.append(cell_text(case_rows[0].get(columns.verdicts[0])) or "nothing")
    return joining


def _index_rows(rows: Sequence[Row], keys: Sequence[str]) -> dict[tuple[str, ...], list[Row]]:
    """Return the rows of a log by their values in the columns ``keys``; rows without any value there are left out."""
    rows_by_key: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        rows_by_key.setdefault(row_key(row, keys), []).append(row)
    rows_by_key.pop(("",) * len(keys), None)  # rows without an id are not all the same row
    return rows_by_key


def _find_rows_of_case(
    case: Case, gold: Gold, columns: LogColumns, rows_by_key: Mapping[tuple[str, ...], list[Row]]
) -> list[list[Row]]:
    """Return the rows of a log that belong to a case: one list for each order of the case, its own order first."""
    answer = gold.judge.answer
    side_names = answer.unit_fields if answer.presentations > 1 else ()
    inputs_of_orders = (case.inputs,) if columns.has_case_ids else answer.asks(case.inputs)
    orders: list[list[Row]] = []
    rows_of_earlier_orders: list[Row] = []
    for inputs in inputs_of_orders:
        values = {**case.row, **inputs}
        if columns.has_case_ids:
            values["case"] = case.id
        order_rows: list[Row] = []
        for row in rows_by_key.get(row_key(values, columns.keys), []):
            if row not in rows_of_earlier_orders and _has_sides(row, inputs, side_names):
                order_rows.append(row)
        orders.append(order_rows)
        rows_of_earlier_orders.extend(order_rows)
    return orders


def _has_sides(row: Row, inputs: Inputs, side_names: Sequence[str]) -> bool:
    """Say whether a row has the texts of a pair on the same sides as the inputs; it may leave sides out."""
    for name in side_names:
        text = match_text(inputs[name])
        if match_text(row.get(name, text)) != text:
            return False
    return True


def _settle_verdicts(judge: Judge, verdicts: Sequence[Verdict]) -> Verdict | None:
    """Return one verdict for rows with equal inputs: the mean of their scores, else the verdict of most, if any."""
    answered = [verdict for verdict in verdicts if any(value is not None for value in verdict.values)]
    if not answered:
        return _find_majority(verdicts)
    if len({len(verdict.values) for verdict in answered}) > 1:
        return _find_majority(answered)
    scale = judge.answer.scale
    settled_values: list[Value | None] = []
    for values_of_unit in zip(*(verdict.values for verdict in answered), strict=True):
        values = [value for value in values_of_unit if value is not None]
        settled_values.append(scale.settle(values) if values else None)
    if None in settled_values:
        return _find_majority(answered)
    return replace(answered[0], values=tuple(settled_values), status="verdict")


def _find_majority(verdicts: Sequence[Verdict]) -> Verdict | None:
    """Return the first verdict whose values more than half of the verdicts have; ``None`` without one."""
    counts = Counter(verdict.values for verdict in verdicts)
    for verdict in verdicts:
        if 2 * counts[verdict.values] > len(verdicts):
            return verdict
    return None


def _join_orders(judge: Judge, verdicts: Sequence[Verdict | None]) -> Verdict | None:
    """Return the verdict on a case from the verdicts of its orders; ``None`` without a verdict.

    Args:
        judge: the judge of the gold.
        verdicts: the verdict of each order of the case, its own order first.
    """
    if len(verdicts) == 1:
        return verdicts[0]
    in_case_order, exchanged = verdicts
    if not exchanged:
        return in_case_order
    if not in_case_order:
        other_side = {FIRST: SECOND, SECOND: FIRST}
        turned_values = tuple(other_side.get(str(value), value) for value in exchanged.values)
        in_case_order = replace(exchanged, values=turned_values)
    return judge.answer.join([in_case_order, exchanged])


def _joining_notes(
    joining: _Joining,
    log: LogReference,
    gold: Gold,
    cases: Sequence[Case],
    columns: LogColumns,
    row_count: int,
) -> list[str]:
    """Return notes for people on how a log was joined with gold."""
    column_names = ", ".join(map(repr, columns.verdicts))
    matched_rows = plural(joining.matched_rows, "row")
    notes = [
        f"{log.name}: the column {column_names} of {matched_rows}, found by {' and '.join(columns.keys)}"
    ]
    if gold.judge.name == RECORDED_JUDGE:
        notes.append(f"taken as inputs: {', '.join(gold.judge.input_fields)}")
    if joining.repeated:
        repeated = plural(joining.repeated, "labelled row")
        notes.append(f"{repeated} stand in it more than once: most verdicts count, of scores their mean")
    missing = len(cases) - len(joining.verdict_of_id) - len(joining.unreadable) - joining.contradicted
    if missing:
        example = next(case for case in cases if case.id not in joining.verdict_of_id)
        notes.append(f"{plural(missing, 'labelled row')} not in it, such as {example.source}")
    unmatched = row_count - joining.matched_rows
    if unmatched > 0:
        notes.append(f"{plural(unmatched, 'row')} of it without a label")
    if joining.contradicted:
        notes.append(f"{plural(joining.contradicted, 'row')} with verdicts that contradict each other")
    if joining.unreadable:
        unreadable_rows = plural(len(joining.unreadable), "row")
        notes.append(f"{unreadable_rows} without a label of the gold, such as {joining.unreadable[0]!r}")
    return notes


def _no_label_error(log: LogReference, gold: Gold, columns: LogColumns, verdicts: Sequence[str]) -> GoldError:
    """Return the error about a log none of whose verdicts is a label of the gold."""
    scale = gold.judge.answer.scale
    labels = list(scale.choices) or [scale.expects]
    words: list[str] = []
    options: list[str] = []
    for word, _ in Counter(verdicts).most_common(_LISTED_WORDS):
        words.append(word)
        options.append(f"--map {quote(word)}=LABEL")
    dots = ", ..." if len(set(verdicts)) > len(words) else ""
    return GoldError(
        f"none of the {len(verdicts)} verdicts in {', '.join(columns.verdicts)} is a label of the gold: "
        f"the log says {', '.join(words)}{dots}, people said {', '.join(labels)}",
        path=log.file,
        hint=f"say which label each word means: {' '.join(options)}; "
        f"or name another column: {RECORDED}{as_data(log.file)}#COLUMN",
    )
