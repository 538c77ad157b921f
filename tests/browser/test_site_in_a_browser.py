"""The documentation's site, built as CI builds it: every page, wide and narrow, light and dark, and its search."""

import functools
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[2]
VIEWS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]


class Quiet(SimpleHTTPRequestHandler):
    """Files, and no log."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[str]]]:
    """The address of the built site, and its pages."""
    pytest.importorskip("mkdocs", reason="pip install -e '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", folder], cwd=ROOT, check=True
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    pages = sorted(path.name for path in folder.glob("*.html") if path.name != "404.html")
    assert {"index.html", "tutorial.html", "commands.html", "python.html"} <= set(pages)
    yield f"http://127.0.0.1:{server.server_address[1]}/", pages
    server.shutdown()


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_every_page(
    site: tuple[str, list[str]],
    opened: Callable[..., Any],
    accessible: Callable[[Any], None],
    width: int,
    scheme: str,
) -> None:
    address, pages = site
    shown = opened(f"{address}index.html", width=width, scheme=scheme)
    for page in pages:
        shown.goto(address + page)
        assert shown.locator("article h1").count() == 1, page
        assert shown.evaluate("document.documentElement.scrollWidth") <= width, page
        accessible(shown)


@pytest.mark.parametrize("early", [True, False], ids=["before the index is there", "after"])
def test_the_search_finds_what_is_put_into_it(
    early: bool, site: tuple[str, list[str]], opened: Callable[..., Any]
) -> None:
    shown, held = opened(f"{site[0]}index.html"), list[Any]()
    shown.route("**/search_index.json", lambda route: held.append(route))
    shown.reload()
    while not held:
        shown.wait_for_timeout(20)
    said = shown.locator(".md-search-result__meta")
    for put_in in (early, not early):
        if put_in:
            shown.locator("input[name=query]").fill("not shown to be better")
        else:
            held.pop().continue_()
            said.filter(has_not_text="Initializing").wait_for(state="attached")
    found = shown.locator(".md-search-result__item a")
    found.first.wait_for()
    assert "statistics.html" in " ".join(one.get_attribute("href") for one in found.all())
