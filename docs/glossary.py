"""Links to the glossary: the first use of each of its words on a page of the site."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

GLOSSARY = "index.md#glossary"
COMMON_WORDS = frozenset({"failed", "look", "reference", "version"})
"""Words of the glossary that pages mostly use in their common sense; pages link these by hand."""
_WITHOUT_LINKS = ("commands.md", "python.md", "index.md")
_PROTECTED = r"`[^`]*`|!?\[[^\]]*\]\([^)]*\)|<!--.*?-->|<[^>]+>"


def glossary_words(index_page: str) -> list[str]:
    """Return the words of the glossary's table, in its order."""
    table = index_page.partition("## Glossary")[2]
    return re.findall(r"^\| (?!word \|)([a-z ]+) \|", table, re.MULTILINE)


def link_first_uses(page: str, words: list[str]) -> str:
    """Return a page in which the first use of each word leads to the glossary.

    Code, headings, tables' heads, pictures and other links stay as they are. A word that the page itself links to the
    glossary is not linked again.
    """
    remaining = []
    for word in words:
        if not re.search(rf"\[{word}s?\]\({re.escape(GLOSSARY)}\)", page):
            remaining.append(word)

    lines = page.split("\n")
    is_code = False
    for number, line in enumerate(lines):
        if line.lstrip().startswith("```"):
            is_code = not is_code
            continue
        following = lines[number + 1] if number + 1 < len(lines) else ""
        is_head_of_table = line.startswith("|") and following.startswith("|--")
        if is_code or line.startswith("#") or is_head_of_table:
            continue
        for word in list(remaining):
            pattern = re.compile(rf"(?P<protected>{_PROTECTED})|(?<![\w-])(?P<word>{word}s?)(?![\w-])")
            for match in pattern.finditer(lines[number]):
                if match["protected"] is None:
                    link = f"[{match['word']}]({GLOSSARY})"
                    lines[number] = lines[number][: match.start()] + link + lines[number][match.end() :]
                    remaining.remove(word)
                    break
    return "\n".join(lines)


def on_page_markdown(markdown: str, page: "Page", config: "MkDocsConfig", files: "Files") -> str:
    """Link the words of the glossary on a page that has prose."""
    if page.file.src_uri in _WITHOUT_LINKS:
        return markdown
    index_page = files.get_file_from_path("index.md")
    assert index_page is not None
    words = [word for word in glossary_words(index_page.content_string) if word not in COMMON_WORDS]
    return link_first_uses(markdown, words)
