"""Texts that try to act on whatever shows them."""

from pathlib import Path

from hypothesis import strategies as st
from small import FAST, claims, ok, write_jsonl

HOSTILE = (
    "</script><script>document.title = 'owned'</script>",
    "<img src=x onerror=\"document.title = 'owned'\"><style>body{display:none}</style>",
    "{{ 7 * 7 }} {% raw %} {% include 'page.html' %} ${7 * 7} {# #}",
    "]]> --> <!-- &lt;b&gt; \u2028 \u2029 \x00 \x1b[2J",
    "\u202eevil desrever \u2066 שלום עולם مرحبا \u200f",
    "javascript:document.title='owned' \" onfocus=\"document.title='owned'\" autofocus='",
    "long " + "x" * 1_000_000,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def reported(place: Path) -> Path:
    """Compile a judge in a folder, on gold with hostile texts; return the page of its report."""
    rows = claims(14, 4)
    for row, text in zip(rows, HOSTILE * 8, strict=True):
        row["conversation"] += f"\n{text[:5000]}"
    write_jsonl(place / "gold.jsonl", rows)
    argv = ("--gold", place / "gold.jsonl", "--store", place / "compiled", "--split", "30/20/50", *FAST)
    ok("compile", "fect", *argv, "--force")
    ok("report", "fect@1", "--store", place / "compiled", "-o", place / "page.html")
    return place / "page.html"
