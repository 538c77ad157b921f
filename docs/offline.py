"""The site's search in a folder: the script that the theme would fetch from the network is one of the site's own."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

_FETCHED = "https://unpkg.com/iframe-worker/shim"


def on_post_page(output: str, page: "Page", config: "MkDocsConfig") -> str:
    """Return a page that loads ``worker.js`` in place of a script from the network."""
    depth = page.url.count("/")
    return output.replace(_FETCHED, "../" * depth + "worker.js")
