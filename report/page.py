"""A report as one file of HTML: nothing is fetched, and nothing that was judged can act in it.

Everything goes through Jinja's autoescape, cases come packed (see :mod:`.packing`) and are shown by a script as text
nodes, and the page's own policy lets no script run but that one and no address be opened.
"""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

from .document import Cases, Changes, Counts, Document, Facts, Lines, Plot
from .packing import pack
from .table import Table

__all__ = ["as_page"]

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
    # 0.1 s, and not needed by a command that prints tables
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    files = {name: _file(name) for name in ("page.html", "page.css", "page.js")}
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    sections = [section for section in document.sections if section.parts]
    return environment.from_string(files["page.html"]).render(
        document=document,
        sections=sections,
        macro_of=lambda part: _MACROS[type(part)],
        pack=pack,
        css=Markup(files["page.css"]),
        script=Markup(files["page.js"]),
        script_hash=_hash(files["page.js"]),
        svg=Markup,
    )


def _file(name: str) -> str:
    return (resources.files(__package__ or "") / "data" / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
