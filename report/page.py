"""Pages of HTML, a report and the review page: nothing that was judged can act in them, and a report fetches nothing.

Everything goes through Jinja's autoescape, cases come packed (see :mod:`.packing`) and are shown by a script as text
nodes, and the page's own policy lets no script run but that one and no address be opened.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from .document import Cases, Changes, Counts, Document, Facts, Lines, Plot
from .packing import pack, pack_values
from .table import Table

_MACROS = {
    Table: "table",
    Plot: "plot",
    Counts: "counts",
    Changes: "changes",
    Facts: "facts",
    Lines: "lines",
    Cases: "cases",
}


def as_page(document: Document) -> str:
    """Return a report as a page."""
    sections = [section for section in document.sections if section.parts]
    return _rendered(
        "page",
        ("page.css",),
        document=document,
        sections=sections,
        macro_of=lambda part: _MACROS[type(part)],
        pack=pack,
    )


def review_page(about: Mapping[str, Any], units: Sequence[Mapping[str, Any]], guideline: str) -> str:
    """Return the page on which people label units."""
    from markdown_it import MarkdownIt
    from markupsafe import Markup

    data = json.dumps(about, ensure_ascii=True).replace("<", "\\u003c").replace("&", "\\u0026")
    return _rendered(
        "review",
        ("page.css", "review.css"),
        about=about,
        about_json=Markup(data),
        units=len(units),
        packed=pack_values({"units": list(units)}),
        guideline=Markup(MarkdownIt("commonmark", {"html": False}).enable("table").render(guideline)),
    )


def _rendered(name: str, styles: Sequence[str], **values: Any) -> str:
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
        script_hash=_hash(script),
        svg=Markup,
        **values,
    )


def _file(name: str) -> str:
    return (resources.files(__package__ or "") / "data" / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
