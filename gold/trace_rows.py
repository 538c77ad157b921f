"""A row for each trace of a file of traces: exports of tracing tools, files of spans, conversations with tool calls."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ..errors import GoldError
from ..text.trace_messages import find_messages, steps_of_messages
from ..text.trace_reading import LAYOUTS, steps_as_json
from ..text.trace_spans import Span, decode_json, find_spans, is_span, spans_by_trace, steps_of_spans
from ..text.trace_steps import Step
from .files import Place, parse_json, read_utf8
from .sources import read

_LABEL_KEYS: Final = ("scores", "assessments", "feedback", "annotations", "label", "labels")
"""Keys under which an export holds what people or judges said of a trace."""
_ID_KEYS: Final = ("id", "trace_id", "traceId", "conversation_id", "session_id")
"""Keys under which a record holds its id, the first with a value counts."""


@dataclass(frozen=True, kw_only=True)
class TraceRow:
    """A trace as a row."""

    id: str
    steps: Sequence[Step]
    group: str = ""  # the id of its conversation; empty where the layout has none
    # what people or judges said of it: key of the export -> value
    labels: Mapping[str, object] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Return the row as JSON values."""
        row: dict[str, object] = {"id": self.id, "trace": steps_as_json(self.steps)}
        if self.group:
            row["group"] = self.group
        return {**row, **self.labels}


def trace_rows(path: str) -> list[TraceRow]:
    """Return a row for each trace in a file.

    Args:
        path: a JSON, JSONL, CSV or Parquet file. A record may be a whole trace, a span, or a conversation; spans are
            put together by the ids of their traces.

    Raises:
        GoldError: the file cannot be read, a record is no trace and no span, or there is no trace with a step.
    """
    rows: list[TraceRow] = []
    # of records that are single spans, or hold several traces: put together at the end
    loose_spans: list[Span] = []
    for place, record in _records(path):
        try:
            spans = find_spans(record)
            messages = find_messages(record)
        except RecursionError as error:
            raise place.wrong("the record is nested too deeply", hint="leave it out") from error
        if spans is not None:
            is_single_span = len(spans) == 1 and is_span(record)
            if is_single_span or len(spans_by_trace(spans)) > 1:
                loose_spans += spans
            else:
                rows.append(_make_row(record, len(rows) + 1, steps_of_spans(spans), spans))
        elif messages is not None:
            rows.append(_make_row(record, len(rows) + 1, steps_of_messages(messages)))
        else:
            raise place.wrong("the record is no trace and no span", hint=f"give {LAYOUTS}")
    for spans in spans_by_trace(loose_spans).values():
        in_order = sorted(spans, key=lambda span: span.start)
        rows.append(_make_row({}, len(rows) + 1, steps_of_spans(in_order), in_order))
    rows = [row for row in rows if row.steps]
    if not rows:
        raise GoldError("the file holds no trace with a step", path=path, hint=f"give {LAYOUTS}")
    return rows


def _records(path: str) -> Iterator[tuple[Place, Any]]:
    """Yield the records of a file with their places.

    A JSON file holds a list of records, or one record: an object, or the messages of one conversation.
    """
    if Path(path).suffix.lower() != ".json":
        for place, row in read(path).rows:
            yield place, {name: decode_json(value) for name, value in row.items()}
        return
    data = parse_json(read_utf8(Path(path), path), Place(path))
    if isinstance(data, list) and find_messages(data) is None:
        for record in data:
            yield Place(path), record
    else:
        yield Place(path), data


def _make_row(record: object, number: int, steps: Sequence[Step], spans: Sequence[Span] = ()) -> TraceRow:
    """Return the row of a trace, with the labels that its record holds.

    Args:
        record: what the file holds of the trace; an empty object where it holds spans alone.
        number: the number of the row, for the id of a trace that has none.
        steps: the steps of the trace.
        spans: its spans; none for a conversation.
    """
    group = ""
    for span in spans:
        if span.session and not group:
            group = span.session
    labels: dict[str, object] = {}
    if isinstance(record, Mapping):
        info = record.get("info")
        if isinstance(info, Mapping):  # MLflow
            labels |= _exported_labels(info)
        labels |= _exported_labels(record)
    return TraceRow(
        id=_id_of(record, spans) or f"trace-{number}",
        steps=steps,
        group=group,
        labels=labels,
    )


def _exported_labels(record: Mapping[str, object]) -> dict[str, object]:
    """Return the labels that people or judges gave a trace: key of the export -> value."""
    return {key: record[key] for key in _LABEL_KEYS if record.get(key)}


def _id_of(record: object, spans: Sequence[Span]) -> str:
    """Return the id of a trace: of its spans, else of its record; empty where neither has one."""
    for span in spans:
        if span.trace:
            return span.trace
    if isinstance(record, Mapping):
        for key in _ID_KEYS:
            if record.get(key):
                return str(record[key])
    return ""
