"""Which requests of the generators the offline engine writes, and by which function.

Whatever asks a program imports this module. A module that writes is imported with the first request for it.
"""

from importlib import import_module
from typing import Final

from ..engines.offline.filler import (
    Filler,
    Inputs,
    Writer,
    Written,
    output_kinds,
    register_writers,
    writer_of_fields,
)
from ..engines.offline.request import ParsedRequest
from ..engines.offline.sampler import Sampler

ANSWER_FIELDS: Final = frozenset({"answer", "correct_answer"})
"""Outputs of a request for an item that hold its answer."""
PASSAGE_FIELDS: Final = frozenset({"passage", "quote", "evidence", "sentence"})
"""Outputs of a request for an item that hold the sentence which bears the answer out."""
_QUERY_FIELDS: Final = frozenset(
    {"missing", "subject", "action", "context", "constraints", "answerable", "response"}
)
_FIELD_KINDS: Final = {"answerable": "bool", "constraints": "objects"}


def _is_item(request: ParsedRequest) -> bool:
    """Return whether a request is for a question with its answer, and perhaps the passage."""
    kinds = output_kinds(request)
    fields = kinds.keys() - {"reason"} - PASSAGE_FIELDS
    if "question" not in fields or len(fields) < 2 or not fields <= {"question"} | ANSWER_FIELDS:
        return False
    return all(kinds[name] == "text" for name in fields)


def _reads_query(request: ParsedRequest) -> bool:
    """Return whether a request has a query as its only input and asks for nothing but parts of its reading."""
    kinds = output_kinds(request)
    fields = kinds.keys() - {"reason"}
    if set(request.inputs) != {"query"} or not fields or not fields <= _QUERY_FIELDS:
        return False
    return all(kinds[name] == kind for name, kind in _FIELD_KINDS.items() if name in fields)


def _filler(module: str, function: str) -> Filler:
    """Return a writer that calls a function of a module of this folder, which is imported with the first call."""

    def fill(inputs: Inputs, sampler: Sampler) -> Written:
        write: Filler = getattr(import_module(f".{module}", __package__), function)
        return write(inputs, sampler)

    return fill


_WRITERS: Final = (
    writer_of_fields("", "assistant_message", "text", _filler("dialogue_offline", "write_turn")),
    writer_of_fields(
        "correct_answer", "hallucinated_answers", "texts", _filler("haluagent.offline", "write_wrong_answers")
    ),
    writer_of_fields("hallucinated_answers", "types", "labels", _filler("haluagent.offline", "write_types")),
    writer_of_fields(
        "hallucinated_answer", "fits", "label", _filler("haluagent.offline", "write_type_check")
    ),
    writer_of_fields("prompt", "response", "text", _filler("haluagent.offline", "write_reply")),
    Writer(recognises=_is_item, fill=_filler("haluagent.offline", "write_item")),
    writer_of_fields("concept", "query", "text", _filler("faithqa.offline", "write_fact_query")),
    writer_of_fields("requirements", "query", "text", _filler("faithqa.offline", "write_creative_query")),
    writer_of_fields("article", "question", "text", _filler("faithqa.offline", "write_article_query")),
    writer_of_fields("articles", "instruction", "text", _filler("faithqa.offline", "write_analysis_query")),
    writer_of_fields("query", "constraints", "objects", _filler("faithqa.offline", "write_reading")),
    Writer(recognises=_reads_query, fill=_filler("faithqa.offline", "write_reading")),
)
register_writers(_WRITERS)
