"""Pages of HTML, a report and the review page: nothing that was judged can act in them, and a report fetches nothing.

Everything goes through Jinja's autoescape, cases come packed (see :mod:`.page`) and are shown by a script as text
nodes, and the page's own policy lets no script run but that one and no address be opened.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import groupby
from typing import Any

from .document import Cases, Document, Part
from .table import Table


def as_page(document: Document) -> str:
    """Return a report as a page."""
    front, sections = ([part for part in some if part.parts] for some in (document.front, document.sections))
    values = {"document": document, "front": front, "sections": sections}
    return rendered("page", ("page.css",), **values, shown=_shown, pack=pack)


def _shown(parts: Sequence[Part]) -> Iterator[tuple[str, Part | list[Part]]]:
    """Yield the parts of a section with the names of their macros; texts, and links, that follow each other as one."""
    for name, some in groupby(parts, key=_macro):
        parts = list(some)
        yield from [(name, parts)] if name in ("lines", "link") else ((name, part) for part in parts)


def _macro(part: Part) -> str:
    if isinstance(part, str):
        return "lines"
    return part.layout if isinstance(part, Table) else type(part).__name__.lower()


def rendered(name: str, styles: Sequence[str], **values: Any) -> str:
    """Return a page with its own styles and script, and a policy that lets no other script run."""
    # 0.1 s, and not needed by a command that prints tables
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    script = _file(f"{name}.js")
    return environment.from_string(_file(f"{name}.html")).render(
        css=Markup("".join(map(_file, styles))),
        script=Markup(script),
        script_hash="sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
        **values,
    )


def _file(name: str) -> str:
    return (resources.files(__package__ or "") / "data" / name).read_text(encoding="utf-8")


LARGEST = 15_000_000
"""Letters of base64 that all cases of a page take at most."""
_LIMITS = (2_000_000, 50_000, 8_000, 1_000, 300)
"""Letters of one text that are kept: the first of these with which all cases fit."""


@dataclass(frozen=True, kw_only=True)
class Packed:
    """Cases as the page's script reads them."""

    data: str  # base64
    limit: int  # letters after which texts were cut so that all fit; 0 if none was


def pack(cases: Cases, *, largest: int = LARGEST) -> Packed:
    """Return cases for a page, with texts as long as fit into ``largest`` letters of base64."""
    known = {kind for case in cases.cases for kind in case["kinds"]}
    known |= {unit["became"] for case in cases.cases for unit in case["units"]}
    values = {
        "systems": list(cases.systems),
        "kinds": [list(kind) for kind in cases.kinds if kind[0] in known],
        "cases": list(cases.cases),
    }
    return pack_values(values, largest=largest)


def pack_values(values: Mapping[str, Any], *, largest: int = LARGEST) -> Packed:
    """Return JSON values for a page, with texts as long as fit."""
    for limit in _LIMITS:
        kept = _cut(values, limit)
        plain = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
        packed = gzip.compress(plain.encode("utf-8", "replace"), compresslevel=6, mtime=0)
        data = base64.b64encode(packed).decode("ascii")
        if len(data) <= largest:
            break
    return Packed(data=data, limit=0 if kept == values else limit)


def _cut(value: Any, limit: int) -> Any:
    """Return JSON values with long texts cut."""
    if isinstance(value, Mapping):
        return {key: _cut(part, limit) for key, part in value.items()}
    if isinstance(value, list):
        return [_cut(part, limit) for part in value]
    if not isinstance(value, str) or len(value) <= limit:
        return value
    return f"{value[:limit]}\n[{len(value) - limit} more letters: see the gold]"
