"""Pages of HTML, a report and the review page: nothing that was judged can act in them, and a report fetches nothing.

Everything goes through Jinja's autoescape. Cases come packed (:func:`pack`), and a script shows them as text nodes. The
page's own policy lets no other script run, and no address be opened.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import groupby
from typing import Any, TypeAlias

from ..evaluation.measured import UNANSWERED
from ..text.terms import shorten
from .document import CaseEntry, Cases, Document, Part, Section, UnitEntry
from .table import Table, table

_MacroParts: TypeAlias = tuple[str, Part | list[Part]]
"""The name of a macro of the page, and what it shows: a part, or the texts or links that follow each other."""


def as_page(document: Document) -> str:
    """Return a report as a page."""
    return render_page(
        "page",
        ("page.css",),
        document=document,
        front=_filled_sections(document.front),
        sections=_filled_sections(document.sections),
        shown=_macro_parts,
        unanswered=UNANSWERED,
        pack=pack,
        table_of_cases=table_of_cases,
    )


def _filled_sections(sections: Sequence[Section]) -> list[Section]:
    """Return the sections that have parts."""
    return [section for section in sections if section.parts]


def _macro_parts(parts: Sequence[Part]) -> Iterator[_MacroParts]:
    """Yield the parts of a section with the names of their macros; texts, and links, that follow each other as one."""
    for macro, neighbours in groupby(parts, key=_macro_name):
        if macro in ("lines", "link"):
            yield macro, list(neighbours)
            continue
        for part in neighbours:
            yield macro, part


def _macro_name(part: Part) -> str:
    """Return the name of the macro of the page that shows a part."""
    if isinstance(part, str):
        return "lines"
    if isinstance(part, Table):
        return part.layout
    return type(part).__name__.lower()


def render_page(name: str, styles: Sequence[str], **values: Any) -> str:
    """Return a page with its own styles and script, and a policy that lets no other script run."""
    # 0.1 s, and not needed by a command that prints tables
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    css = ""
    for style in styles:
        css += _page_source(style)
    script = _page_source(f"{name}.js")
    script_digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return environment.from_string(_page_source(f"{name}.html")).render(
        css=Markup(css), script=Markup(script), script_hash=f"sha256-{script_digest}", **values
    )


def _page_source(name: str) -> str:
    """Return a file of the folder ``data``."""
    return (resources.files(__package__ or "") / "data" / name).read_text(encoding="utf-8")


LARGEST = 15_000_000
"""Letters of base64 that all cases of a page take at most."""
_LIMITS = (2_000_000, 50_000, 8_000, 1_000, 300)
"""Letters of one text that stay: the first of these with which all cases fit."""


@dataclass(frozen=True, kw_only=True)
class Packed:
    """Cases as the page's script reads them."""

    data: str  # base64
    limit: int  # letters after which texts were cut so that all fit; 0 if none was


_PREVIEW_LETTERS = 200
"""Letters of a case's text in the table that stands in for the script."""


def table_of_cases(cases: Cases) -> Table:
    """Return a row for each case, for a browser that runs no script: what was said of it, and the start of its text."""
    is_labelled = any(unit["gold"] for case in cases.cases for unit in case["units"])
    columns = ["case"]
    if is_labelled:
        columns.append("gold label")
    columns.extend(cases.systems)
    columns.append("text")
    rows = []
    for case in cases.cases:
        row = [case["source"] or case["id"]]
        if is_labelled:
            row.append("; ".join([unit["gold"] or "-" for unit in case["units"]]))
        for place in range(len(cases.systems)):
            row.append("; ".join([_verdict_words(unit, place) for unit in case["units"]]))
        row.append(_preview(case))
        rows.append(row)
    return table("", columns, rows)


def _verdict_words(unit: UnitEntry, place: int) -> str:
    """Return the value that a system gave to a unit, and its probability."""
    value = unit["said"][place] or "no answer"
    sureness = unit["sure"][place]
    if sureness is None:
        return value
    return f"{value} ({sureness:.0%})"


def _preview(case: CaseEntry) -> str:
    """Return the start of the text of a case: of its first unit, else of its last input."""
    texts = [unit["text"] for unit in case["units"] if unit["text"]]
    for shown_input in case["inputs"][::-1]:
        if len(shown_input) == 2:  # no image
            texts.append(shown_input[1])
    if not texts:
        return "-"
    return shorten(texts[0], _PREVIEW_LETTERS)


def pack(cases: Cases, *, largest: int = LARGEST) -> Packed:
    """Return cases for a page, with texts as long as fit into ``largest`` letters of base64."""
    occurring_kinds: set[str] = set()
    for case in cases.cases:
        occurring_kinds.update(case["kinds"])
        for unit in case["units"]:
            occurring_kinds.add(unit["became"])
    kinds = []
    for name, tone, meaning in cases.kinds:
        if name in occurring_kinds:
            kinds.append([name, tone, meaning])
    values = {"systems": list(cases.systems), "kinds": kinds, "cases": list(cases.cases)}
    return pack_values(values, largest=largest)


def pack_values(values: Mapping[str, object], *, largest: int = LARGEST) -> Packed:
    """Return JSON values for a page, with texts as long as fit."""
    for limit in _LIMITS:
        fitting_values = _shorten_texts(values, limit)
        plain = json.dumps(fitting_values, ensure_ascii=False, separators=(",", ":"))
        packed = gzip.compress(plain.encode("utf-8", "replace"), compresslevel=6, mtime=0)
        data = base64.b64encode(packed).decode("ascii")
        if len(data) <= largest:
            break
    if fitting_values == values:
        limit = 0
    return Packed(data=data, limit=limit)


def _shorten_texts(value: object, limit: int) -> object:
    """Return JSON values whose texts have at most ``limit`` letters, and a note where more were cut off."""
    if isinstance(value, Mapping):
        return {key: _shorten_texts(part, limit) for key, part in value.items()}
    if isinstance(value, list):
        return [_shorten_texts(part, limit) for part in value]
    if not isinstance(value, str) or len(value) <= limit:
        return value
    return f"{value[:limit]}\n[{len(value) - limit} more letters: see the gold]"
