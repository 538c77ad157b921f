"""The words of the documentation: plain sentences, few private words, and no more pages than people read."""

import importlib
import importlib.util
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT, pages

import jurist

PAGES = [*pages(), ROOT / "SKILL.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
DOCS = [page for page in PAGES if page.parent == ROOT / "docs"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = PROJECT["tool"]["setuptools"]["packages"]

RIDDLES = (
    "without a model, has .",
    "that nobody ever checked",
    "who reaches what at which price",
    "which the basic prompt can see",
    "so that everything runs, not as a floor",
    "Rows are found by an `id`",
    "better left to people",
    "is no floor",
    "says all that is wrong",
    "The ten lines at the end say",
    "holds the worse end of the interval against the limit",
    "where they tell most",
    "what is not clear is said",
    "an empty one says nothing",
    "are asked as they were proven",
    "the proof is of the old",
    "mostly has the better score",
    "may say hardly more than ten rows",
    "over three positive rows is a recall over three rows",
    "cover more often than they say",
    "which was never tried on it",
    "which was opened most often",
    "of which the old ones tell less",
    "how often luck alone would do this if",
    "stands what needs no language model",
    "too low to say this",
    "whatever helps, in one search",
    "are met before it",
    "drawn towards the prompt that each was made from",
    "are shown to nobody",
    "groups of cases agree, by the permutation",
    "must pass in the same way over that",
    "show them, those of one prompt refuse",
    "say nearly alike makes no groups one",
    "They are said in a line",
    "They illustrate; they do not",
    "changes nothing (no error in 12 groups)",
    "than units of their own would",
    "for most metrics nothing lies beyond",
    "pressed before that labels nothing",
)
"""A telling part of sentences that readers had to read twice: written again, they are put in other words."""

HABITS = {
    "a page begins with its result": r"\A#[^\n]*\n+This page\b",
    "who does what": r"\b(?:is|are) said in (?:a|one) line\b",
    "the cheap and the expensive": r"\ba dear(?:er)? (?:one|judge|model)\b",
    "jurist, not a nobody, says it": r"\b(?:it is|this is) said\b",
}
"""What a rule asks for -> words that break it."""

MOST_WORDS = 45_000
"""Words of `docs/`, as `wc -w docs/*.md` counts them."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_sentences_are_plain(page: Path) -> None:
    text = re.sub(r"\s+", " ", page.read_text(encoding="utf-8"))
    assert [riddle for riddle in RIDDLES if riddle in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_habits_that_make_a_page_hard_are_absent(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [rule for rule, pattern in HABITS.items() if re.search(pattern, text)] == []


@pytest.mark.parametrize("package", sorted(set(PACKAGES) - {"jurist.signatures"}))
def test_messages_help_and_docstrings_are_plain(package: str) -> None:
    folder = ROOT / Path(*package.split(".")[1:])
    rules = [*map(re.escape, RIDDLES), *HABITS.values()]
    hard = []
    for file in [*folder.glob("*.py"), *folder.glob("data/*.html"), *folder.glob("data/*.js")]:
        text = re.sub(r"\s+(?:# )?", " ", file.read_text(encoding="utf-8"))
        hard += [f"{file.name}: {rule}" for rule in rules if re.search(rule, text)]
    assert hard == []


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.stem)
def test_a_page_begins_with_a_command(page: Path) -> None:
    beginning = page.read_text(encoding="utf-8").partition("\n## ")[0]
    assert "\n```" in beginning


def test_the_documentation_is_short() -> None:
    words = sum(len(page.read_text(encoding="utf-8").split()) for page in DOCS)
    assert words <= MOST_WORDS, f"{words:,} words: shorten a page, or leave one out"


def slug(heading: str) -> str:
    """Return the anchor that sites and forges give a heading."""
    return re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SKILL.md"])
def test_links_from_outside_the_site_lead_to_a_heading(name: str) -> None:
    missing = []
    text = (ROOT / name).read_text(encoding="utf-8")
    for page, anchor in re.findall(r"\]\((docs/[\w-]+\.md)(?:#([\w-]+))?\)", text):
        headings = re.findall(r"^#+ (.*)", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
        if anchor and anchor not in map(slug, headings):
            missing.append(f"{page}#{anchor}")
    assert missing == []


def glossary() -> Any:
    """Return the hook of the site that links the words of the glossary."""
    spec = importlib.util.spec_from_file_location("glossary", ROOT / "docs" / "glossary.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_private_words_are_at_most_twenty() -> None:
    module = glossary()
    words = module.glossary_words((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    assert 0 < len(words) == len(set(words)) <= 20
    assert set(words) >= module.COMMON_WORDS


def test_nouns_of_the_code_are_forty() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("## Words")[2].partition("## ")[0]
    nouns = re.findall(r"^\| (?!word \|)([a-z ]+) \|", table, re.MULTILINE)
    assert len(nouns) == len(set(nouns)) == 40


@pytest.mark.parametrize(
    ("page", "linked"),
    [
        ("The gold has groups, and gold again.", "The [gold](index.md#glossary) has groups, and gold again."),
        ("`gold` is gold", "`gold` is [gold](index.md#glossary)"),
        ("# gold\n\ngold", "# gold\n\n[gold](index.md#glossary)"),
        ("```sh\ngold\n```\ngold", "```sh\ngold\n```\n[gold](index.md#glossary)"),
        ("| gold |\n|---|\n| gold |", "| gold |\n|---|\n| [gold](index.md#glossary) |"),
        ("[more gold](gold.md) than gold", "[more gold](gold.md) than [gold](index.md#glossary)"),
        ("gold, then [gold](index.md#glossary)", "gold, then [gold](index.md#glossary)"),
        ("marigold, gold-plated", "marigold, gold-plated"),
        ("two openings", "two [openings](index.md#glossary)"),
    ],
)
def test_the_first_use_of_a_private_word_leads_to_the_glossary(page: str, linked: str) -> None:
    assert glossary().link_first_uses(page, ["gold", "opening"]) == linked


DOTTED = re.compile(r"(?<![\w./-])jurist((?:\.[A-Za-z_]\w*)+)")
ENTRY_POINTS = {"jurist.judges", "jurist.optimizers", "jurist.exports", "jurist.readers"}
FILES = {"toml", "fish"}
"""What ends a name that is a file's."""


@pytest.mark.parametrize("page", [*DOCS, ROOT / "README.md", ROOT / "SKILL.md"], ids=lambda page: page.stem)
def test_a_dotted_name_is_there_after_import_jurist_or_is_a_module(page: Path) -> None:
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if not line.startswith(":::")]
    missing = []
    for name in sorted(set(DOTTED.findall("\n".join(lines)))):
        first, *rest = name[1:].split(".")
        if first in FILES or f"jurist{name}" in ENTRY_POINTS:
            continue
        if first not in jurist.__all__:
            try:
                importlib.import_module(f"jurist{name}")
            except ImportError:
                missing.append(name)
            continue
        value: object = getattr(jurist, first)
        for part in rest:
            if not hasattr(value, part):
                missing.append(name)
                break
            value = getattr(value, part)
    assert not missing
