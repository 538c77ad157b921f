"""The table of ends of models: who is warned, who is not, and that the examples of jurist name no model of it."""

import re
from datetime import date
from pathlib import Path

import pytest
from small import cli, write_jsonl

import jurist
from jurist.arguments import names
from jurist.keeping.model_ends import NOTICE, find_model_end, find_near_ends, warning_of_ends

ROOT = Path(__file__).parents[2]
EXAMPLES = {names.EXAMPLE_MODEL, names.LARGER_EXAMPLE_MODEL, names.OTHER_EXAMPLE_MODEL}
JANUARY = date(2027, 1, 14)


@pytest.mark.parametrize(
    ("model", "day"),
    [
        ("openai/gpt-4o", JANUARY),
        ("openai/gpt-4o-2024-08-06", JANUARY),
        ("OpenAI/GPT-4.1-mini", JANUARY),
        ("openai/ft:gpt-4.1-mini-2025-04-14:acme::7p4lURel", JANUARY),
        ("openrouter/openai/gpt-4o-mini", JANUARY),
        ("anthropic/claude-sonnet-4-5-20250929", date(2026, 11, 30)),
        ("azure/gpt-4o", None),
        ("openai/gpt-4o-audio", None),
        ("openai/my-model", None),
        ("offline", None),
        ("", None),
    ],
)
def test_the_end_of_a_model(model: str, day: date | None) -> None:
    end = find_model_end(model)
    assert (end and end.day) == day


@pytest.mark.parametrize(
    ("today", "words"),
    [
        (JANUARY - NOTICE, "openai/gpt-4o ends 2027-01-14"),
        (date(2027, 1, 13), "openai/gpt-4o ends 2027-01-14"),
        (JANUARY, "openai/gpt-4o ended 2027-01-14"),
    ],
)
def test_a_warning_names_the_day_and_its_source(today: date, words: str) -> None:
    warning = warning_of_ends([jurist.Model(name="openai/gpt-4o")], today)
    assert warning.startswith(words)
    assert "https://" in warning


def test_nobody_is_warned_early_or_of_a_server_of_ones_own() -> None:
    early = date(2026, 10, 15)
    assert find_near_ends([jurist.Model(name="openai/gpt-4o")], early) == {}
    own = jurist.Model(name="openai/gpt-4o", api_base="http://127.0.0.1:1/v1")
    assert find_near_ends([own], JANUARY) == {}


def test_every_member_of_a_panel_is_warned_of() -> None:
    panel = jurist.Model.panel([jurist.Model(name="openai/gpt-4o"), jurist.Model(name="openai/gpt-5")])
    assert set(find_near_ends(panel.each, JANUARY)) == {"openai/gpt-4o", "openai/gpt-5"}


def test_versions_whose_model_has_ended_are_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    row = {"group": "1", "conversation": "A: It is red.", "claim": "It is red.", "factual": True}
    write_jsonl(tmp_path / "gold.jsonl", [row])
    with pytest.warns(UserWarning, match="ended 2026-10-23"):
        judge = jurist.load("fect:basic", model="openai/gpt-4.1-nano")
    assert "openai/gpt-4.1-nano ended 2026-10-23" in judge.ending
    store = jurist.Store(tmp_path / "compiled")
    for model in ("openai/gpt-4.1-nano", names.EXAMPLE_MODEL):
        _save_version(store, model)
    listed = cli("artifacts", "list")
    assert "openai/gpt-4.1-nano (ended 2026-10-23)" in listed.out
    assert f"{names.EXAMPLE_MODEL} (" not in listed.out
    assert "fect@1 asks a model that ends within 90 days, or ended" in listed.err


@pytest.mark.parametrize("command", ["evaluate", "gate", "compare", "cascade"])
def test_scoring_warns_of_the_ends_of_models(command: str) -> None:
    """The warning comes before the first request: none is sent without a key."""
    judges = ["fect:basic"]
    if command in ("compare", "cascade"):
        judges.append("fect-3d:basic")
    options = ["--gold", "fect-mini", "--model", "openai/gpt-4.1-nano"]
    if command == "gate":
        options += ["--min", "accuracy=0.1"]
    done = cli(command, *judges, *options)
    assert done.code != 0
    assert "OPENAI_API_KEY" in done.err
    assert done.err.count("openai/gpt-4.1-nano ended 2026-10-23") == 1, done.err


def _save_version(store: jurist.Store, model: str) -> None:
    from jurist.keeping.card import CardContent
    from jurist.keeping.card_parts import ModelCard

    judge = jurist.load("fect:basic")
    store.save(judge.judge, judge.state, CardContent(model=ModelCard(name=model)), [], make_latest=False)


HOSTED = re.compile(
    r"\b(?:gpt-\d[\w.-]*|o[1-9](?:-(?:mini|pro))?(?=[`\s\"\',)])|claude-[a-z]+-[\w.-]*|gemini-\d[\w.-]*"
    r"|grok-\d[\w.-]*|deepseek-(?:chat|reasoner)|mistral-(?:large|medium|small)[\w.-]*)"
)
"""Names of models that a provider hosts, and may end."""
NO_EXAMPLES = {"engines/models.py", "text/drafts.py", "keeping/model_ends.py"}
"""Files that name families of models, or models that end."""


def _texts() -> list[Path]:
    paths = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "mkdocs.yml"]
    paths += sorted((ROOT / "docs").glob("*.*"))
    for folder in sorted(ROOT.iterdir()):
        if (folder / "__init__.py").exists() and folder.name not in ("tests", "compiled"):
            paths += sorted(folder.rglob("*.py"))
    return paths + sorted(ROOT.glob("*.py*"))


def test_examples_name_the_models_of_one_place() -> None:
    allowed = {model.rpartition("/")[2] for model in EXAMPLES}
    found = []
    count = 0
    for path in _texts():
        name = path.relative_to(ROOT).as_posix()
        if name in NO_EXAMPLES or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for match in HOSTED.finditer(text):
            count += 1
            is_warning = "ends 2027-01-14" in text.splitlines()[text.count("\n", 0, match.start())]
            if match[0].rstrip(".-") not in allowed and not is_warning:
                found.append(f"{name}: {match[0]}")
    assert found == []
    assert count > 30


def test_no_example_has_an_announced_end() -> None:
    assert find_near_ends([jurist.Model(name=model) for model in EXAMPLES], date.max - NOTICE) == {}
