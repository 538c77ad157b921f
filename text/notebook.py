"""What a notebook shows of a small object: a title and its facts."""

import html
from collections.abc import Mapping


def facts_html(title: str, facts: Mapping[str, object]) -> str:
    """Return a title and facts as HTML, without those that say nothing; no text in them is taken for markup."""
    rows = (
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(fact))}</td></tr>"
        for name, fact in facts.items()
        if fact not in ("", None)
    )
    return f"<div><b>{html.escape(title)}</b><table>{''.join(rows)}</table></div>"
