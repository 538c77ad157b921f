"""The page of a report as people see and use it: every width and colour, the keyboard, many cases, hostile ones."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hostile import HOSTILE, reported
from small import claims, ok, write_jsonl

from jurist.keeping.card_parts import CriterionCard, DecisionCard, ScoreCard
from jurist.report.document import Cases, Document, Section
from jurist.report.judged import KINDS
from jurist.report.page import as_page
from jurist.report.plots import ScoreBar, forest_plot
from jurist.report.scores import criteria_table
from jurist.report.verdict import standing_table

pytestmark = pytest.mark.browser
VIEWS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a real compilation on gold with hostile texts."""
    return reported(tmp_path_factory.mktemp("report"))


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_every_view(
    page: Path, opened: Callable[..., Any], accessible: Callable[[Any], None], width: int, scheme: str
) -> None:
    shown = opened(page, width=width, scheme=scheme)
    shown.wait_for_selector(".row")
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    decision = json.loads((page.parent / "compiled/fect/1/card.json").read_text())["decision"]
    assert (
        f"from {decision['basic']:.3f} to {decision['compiled']:.3f}" in shown.locator("header").inner_text()
    )
    accessible(shown)


def test_a_screen_reader_finds_its_way(
    page: Path, opened: Callable[..., Any], spoken: Callable[[Any], None]
) -> None:
    shown = opened(page)
    shown.wait_for_selector(".row")
    spoken(shown)
    every = shown.get_by_role("status").inner_text()
    shown.get_by_role("searchbox", name="search").fill("no such words")
    shown.wait_for_function("said => document.querySelector('output').textContent !== said", arg=every)
    assert shown.get_by_role("status").inner_text().startswith("0 of ")
    shown.get_by_role("searchbox", name="search").fill("")
    shown.wait_for_selector(".row")
    shown.get_by_role("listbox", name="cases").press("ArrowDown")
    listed = shown.get_by_role("listbox", name="cases")
    chosen = listed.get_by_role("option", selected=True)
    assert chosen.get_attribute("id") == listed.get_attribute("aria-activedescendant")


@pytest.mark.parametrize("kind", ["evaluate", "compare"])
@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_the_page_of_a_result(
    kind: str, opened: Callable[..., Any], accessible: Callable[[Any], None], width: int, scheme: str
) -> None:
    rows = claims()
    for number, row in enumerate(rows):
        row["<b>group"] = HOSTILE[number % len(HOSTILE)]
    write_jsonl(Path("gold.jsonl"), rows)
    judges = ("fect:basic", "fect-3d:basic") if kind == "compare" else ("fect:basic",)
    ok(kind, *judges, "--gold", "gold.jsonl", "--by", "<b>group", "--output", "result.json")
    ok("report", "result.json")
    shown = opened(Path("result.html"), width=width, scheme=scheme)
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    section = shown.locator("#column")
    assert section.locator("h2").inner_text() == "By <b>group"
    assert section.get_by_role("img").count() == 1
    accessible(shown)


def test_the_keyboard_alone(page: Path, opened: Callable[..., Any]) -> None:
    shown = opened(page)
    shown.wait_for_selector(".row")
    every = shown.locator(".found").inner_text()
    shown.keyboard.press("2")
    chosen = shown.locator(".kinds button[aria-pressed=true]").inner_text()
    count = int(chosen.split()[-1])
    assert shown.locator(".found").inner_text().startswith(f"{count} of ")
    shown.keyboard.press("1")
    assert shown.locator(".found").inner_text() == every
    first = shown.locator(".case h3").inner_text()
    shown.keyboard.press("j")
    assert shown.locator(".case h3").inner_text() != first
    shown.keyboard.press("k")
    assert shown.locator(".case h3").inner_text() == first
    shown.keyboard.press("Enter")
    assert shown.evaluate("document.activeElement.className") == "case"
    shown.keyboard.press("Escape")
    assert shown.evaluate("document.activeElement.className") == "list"
    shown.keyboard.press("/")
    shown.keyboard.type("{{ 7 * 7 }}")
    shown.wait_for_function("before => document.querySelector('.found').textContent !== before", arg=every)
    assert "{{ 7 * 7 }}" in shown.locator(".case").inner_text()


def test_a_count_opens_its_cases_and_the_address_keeps_them(page: Path, opened: Callable[..., Any]) -> None:
    shown = opened(page)
    shown.wait_for_selector(".row")
    cell = shown.locator(".counts td.same a").first
    count = cell.inner_text()
    cell.click()
    shown.wait_for_function(f"() => document.querySelector('.found').textContent.startsWith('{count} of ')")
    shown.locator("select[name=sort]").select_option("unsure")
    address = shown.url
    assert all(part in address for part in ("gold=", "by=", "said=", "sort=unsure"))
    again = opened(address)
    again.wait_for_selector(".row")
    assert again.locator(".found").inner_text().startswith(f"{count} of ")
    assert again.locator(".case h3").inner_text() == shown.locator(".case h3").inner_text()


def cases(texts: list[str]) -> Document:
    kinds = [name for name, _, _ in KINDS]
    found = [
        {
            "id": f"{place:06d}",
            "group": text[:80],
            "source": "",
            "kinds": [kinds[place % len(kinds)]],
            "inputs": [["text", text]],
            "units": [
                {
                    "text": "",
                    "gold": "yes",
                    "said": ["no"],
                    "sure": [None],
                    "became": kinds[place % len(kinds)],
                }
            ],
            "notes": [{"system": "basic", "status": "abstained", "reasoning": text, "error": text}],
        }
        for place, text in enumerate(texts)
    ]
    part = Cases(systems=("basic",), kinds=KINDS, units={}, cases=found)
    section = Section(name="cases", title="Cases", parts=(part,))
    return Document(subject="s", about="a", headline="headline", tone="open", lead=(), sections=(section,))


def test_hostile_cases_change_nothing(tmp_path: Path, opened: Callable[..., Any]) -> None:
    path = tmp_path / "page.html"
    path.write_text(as_page(cases(list(HOSTILE))), encoding="utf-8")
    shown = opened(path)
    shown.wait_for_selector(".row")
    title, seen = shown.title(), set()
    for _ in HOSTILE:
        seen.add(
            shown.locator(".case").evaluate(
                "one => one.lastChild.tagName + one.querySelectorAll('img, script, style').length"
            )
        )
        shown.locator(".list").press("ArrowDown")
    assert seen == {"P0", "BUTTON0"}
    shown.locator(".case button").last.click()
    assert len(shown.locator(".case").inner_text()) > 1_000_000
    assert (shown.title(), shown.locator("body").is_visible()) == (title, True)


def test_a_plot_is_as_large_on_a_telephone_as_its_letters(page: Path, opened: Callable[..., Any]) -> None:
    shown = opened(page, width=390)
    shown.wait_for_selector(".row")
    assert shown.locator("figure.plot svg").count() >= 3
    for box in shown.locator("figure.plot svg").all():
        width = box.evaluate("one => one.getBoundingClientRect().width")
        assert 300 <= width <= 390
    assert shown.locator(".plot text").first.evaluate("one => one.getBoundingClientRect().height") >= 10


@pytest.mark.parametrize("width", [1920, 1280, 900])
def test_criteria_stand_side_by_side_and_none_is_cut(
    tmp_path: Path, opened: Callable[..., Any], width: int
) -> None:
    figures = {
        "metric": "balanced_accuracy",
        "basic": 0.5,
        "compiled": 0.75,
        "difference": 0.25,
        "units": 120,
    }
    criterion = CriterionCard(**figures, low=0.01, high=0.49, shown="")
    decision = DecisionCard(criteria=dict.fromkeys(("supported", "commits", "friendly_tone"), criterion))
    scores = {name: {"mean": ScoreCard(value=0.6, low=0.5, high=0.7)} for name in ("compiled", "basic")}
    standing = [
        *forest_plot("mean", [ScoreBar(name=name, value=0.6, low=0.5, high=0.7) for name in scores]),
        standing_table("mean", scores, {}, {}),
        *criteria_table(decision),
    ]
    document = Document(
        subject="tone@1",
        about="",
        headline="Better",
        tone="good",
        front=(Section("standing", "How good it is", standing),),
        sections=(),
    )
    place = tmp_path / "criteria.html"
    place.write_text(as_page(document), encoding="utf-8")
    shown = opened(place, width=width)
    boxes = shown.locator("#standing .parts > .scroll").all()
    assert len(boxes) == 2
    for box in boxes:
        assert box.evaluate("one => one.scrollWidth - one.clientWidth") <= 0


def test_without_its_script_a_page_has_all_cases(page: Path, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    shown = context.new_page()
    shown.goto(page.resolve().as_uri())
    rows = shown.locator("noscript tbody tr").count()
    proof = (page.parent / "compiled/fect/1/proof.jsonl").read_text(encoding="utf-8").splitlines()
    seen = shown.locator(".explorer").is_visible()
    context.close()
    assert (rows, seen) == (len(proof), False)


def test_paper_has_the_cases(page: Path, opened: Callable[..., Any]) -> None:
    shown = opened(page)
    shown.wait_for_selector(".row")
    shown.keyboard.press("2")
    count = int(shown.locator(".found").inner_text().split()[0])
    shown.emulate_media(media="print")
    shown.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert shown.locator(".printed .sheet:visible").count() == min(count, 200)
    assert shown.locator("details.folded:not([open])").count() == 0
