"""A page in Debian's Chromium: nothing may leave it, and nothing may go wrong in it."""

import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
VIEWS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, or a skip that says what is missing."""
    driving = pytest.importorskip("playwright.sync_api", reason="pip install -e '.[browser]'")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium on the path: apt-get install chromium")
    with driving.sync_playwright() as started:
        found = started.chromium.launch(executable_path=chromium, args=list(QUIET))
        yield found
        found.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Return what opens an address; afterwards nothing may have gone wrong or elsewhere."""
    faults: list[str] = []
    contexts = []

    def visit(address: str | Path, *, width: int = 1280, scheme: str = "light") -> Any:
        url = address if isinstance(address, str) else address.resolve().as_uri()
        context = browser.new_context(viewport={"width": width, "height": 860}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        own, file = url.split("/")[:3] if url.startswith("http") else None, url.partition("#")[0]

        def asked(request: Any) -> None:
            inside = request.url.startswith(("data:", file)) or request.url.split("/")[:3] == own
            if not inside:
                faults.append(f"asked for {request.url}")

        page.on("request", asked)
        page.on(
            "console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(url)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture
def accessible() -> Callable[[Any], None]:
    """Return what holds a page to axe-core's rules."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install -e '.[browser]'")

    def hold(page: Any) -> None:
        found = axe.Axe().run(page).response["violations"]
        said = [
            (one["id"], one["nodes"][0]["html"][:200], one["nodes"][0]["failureSummary"]) for one in found
        ]
        assert said == []

    return hold


@pytest.fixture
def spoken() -> Callable[[Any], None]:
    """Return what holds a page to the structure that a screen reader goes by, as Chromium hands it on."""

    def hold(page: Any) -> None:
        found = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
        tree = [
            (
                one["role"]["value"],
                one.get("name", {}).get("value", ""),
                {each["name"]: each["value"].get("value") for each in one.get("properties", [])},
            )
            for one in found
            if not one["ignored"]
        ]
        roles = [role for role, _, _ in tree]
        assert (roles.count("banner"), roles.count("main")) == (1, 1)
        outline = page.locator("h1, h2, h3, h4, h5, h6").evaluate_all(
            "all => all.filter(one => one.checkVisibility()).map(one => +one.tagName[1])"
        )
        assert outline.count(1) == 1
        assert all(below <= above + 1 for above, below in itertools.pairwise([0, *outline])), outline
        named = ("table", "region", "navigation", "listbox", "article", "image", "button", "heading")
        assert [role for role, name, _ in tree if role in named and not name.strip()] == []
        columns = "all => all.filter(one => !one.querySelector('thead th[scope=col]')).length"
        assert page.locator("table").evaluate_all(columns) == 0
        rows = "all => all.filter(one => !one.querySelector('th[scope=row]')).length"
        assert (
            page.locator("main section > .scroll > table, main .parts > .scroll > table").evaluate_all(rows)
            == 0
        )
        assert any(told.get("live") == "polite" for _, _, told in tree)

    return hold
