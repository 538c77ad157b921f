"""A judge compiled for a panel: its proof, its card, and every command that asks the version afterwards."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, field_of, truth_of
from small import FAST, Done, claims, cli, ok, read_jsonl, write_jsonl

import jurist
from jurist.engines.models import Model
from jurist.jobs.panels import describe_panel, member_rows
from jurist.keeping.artifacts import Store
from jurist.keeping.loaders import load_judge
from jurist.programs.fect import FECT
from jurist.programs.verdicts import Verdict

NAMES = ("openai/a", "openai/b", "openai/c")
PANEL = tuple(word for name in NAMES for word in ("--panel", name))


def of_one_mind(who: str) -> Loopback:
    """Return a server that says what all say, but for a quarter of the claims, which are others at each server."""

    def answers(messages: list[dict[str, Any]]) -> str:
        claim = field_of(str(messages[-1]["content"]), "claim")
        agrees = truth_of(claim + who[-1], tuple(range(4))) != 0
        return f"[[ ## factual ## ]]\n{truth_of(claim) == agrees}\n\n[[ ## completed ## ]]"

    return Loopback(answers)


@pytest.fixture
def servers() -> Iterator[dict[str, Loopback]]:
    """A server for each model, and the file that says where it is."""
    running = {name: of_one_mind(name) for name in NAMES}
    lines = []
    for name, server in running.items():
        server.__enter__()
        lines += [f'[panel."{name}"]', f'api-base = "{server.url}"', "price-in = 1.0", "price-out = 2.0"]
    Path("jurist.toml").write_text("\n".join(lines), encoding="utf-8")
    write_jsonl(Path("gold.jsonl"), claims(groups=30))
    yield running
    for server in running.values():
        server.__exit__()


def compiled() -> Done:
    ends = ("--no-words", "--anyway", "--yes", "--force", "--json")
    return ok("compile", "fect", "--gold", "gold.jsonl", *FAST, *PANEL, *ends)


def new_rows() -> None:
    rows = [
        {name: row[name] for name in ("group", "conversation", "claim")} for row in claims(groups=40)[90:]
    ]
    write_jsonl(Path("rows.jsonl"), rows)


def test_a_panel_is_compiled_proven_and_asked_again(servers: dict[str, Loopback]) -> None:
    told = compiled()
    card = told.json
    assert [member["name"] for member in card["model"]["members"]] == list(NAMES)
    assert card["model"]["name"] == "panel of openai/a + openai/b + openai/c"
    assert (card["thresholds"]["samples"], card["thresholds"]["panel"]) == (3, True)
    assert card["panel"]["answered"] == dict.fromkeys(NAMES, card["panel"]["cases"])
    assert 0 < card["panel"]["agreement"] < 1
    for name in NAMES:  # each member alone, with a paired test
        assert {"score", "judge_is", "difference", "p"} <= card["references"][name].keys()
    assert card["dollars_per_1000_rows"]["basic"] == pytest.approx(3 * (100 * 1.0 + 10 * 2.0) / 1000)
    assert len({server.count for server in servers.values()}) == 1
    assert "of 45 cases answered: openai/a 45, openai/b 45, openai/c 45; two of them agree on" in told.people

    assert "; the best of them alone, openai/" in told.people

    both = ok("compare", "fect@1", "fect:basic", "--gold", "gold.jsonl", *PANEL, "--json").json
    assert {judge["model"] for judge in both["judges"]} == {card["model"]["name"]}

    new_rows()
    before = {name: server.count for name, server in servers.items()}
    done = ok("run", "fect@1", "--input", "rows.jsonl", "--output", "o.jsonl", "--json")
    lines = read_jsonl(Path("o.jsonl"))
    assert [servers[name].count - before[name] for name in NAMES] == [len(lines)] * 3
    assert done.json["spend"]["cost"] == pytest.approx(3 * len(lines) * (100 * 1.0 + 10 * 2.0) / 1e6)
    assert done.json["panel"] == dict.fromkeys(NAMES, len(lines))
    assert list(lines[0]["panel"]) == list(NAMES)
    assert lines[0]["sampling"]["panel"] is True
    assert ok("run", "fect@1", "--input", "rows.jsonl", "--output", "o.jsonl", "--resume", "--json").json[
        "resumed"
    ]

    evaluated = ok("evaluate", "fect@1", "--gold", "gold.jsonl", "--json").json
    assert evaluated["panel"]["answered"] == dict.fromkeys(NAMES, evaluated["cases"])
    assert set(NAMES) <= evaluated["references"].keys()
    ok("gate", "fect@1", "--gold", "gold.jsonl", "--min", "f1=0.1")
    ok("report", "fect@1", "-o", "page.html")
    assert "two of them agree on" in Path("page.html").read_text(encoding="utf-8")


def test_what_asks_one_model_refuses_a_panel_and_says_what_to_do(servers: dict[str, Loopback]) -> None:
    compiled()
    new_rows()
    exported = cli("export", "fect@1", "--to", "python", "--output", "judge.py")
    assert exported.code == 1
    assert "and an exported file asks one model; serve it, as jurist serve fect@1" in exported.err
    ok("export", "fect@1", "--to", "markdown", "--output", "judge.md")  # which people read
    batched = cli("batch", "submit", "fect@1", "--input", "rows.jsonl", "--output", "o.jsonl")
    assert batched.code == 2
    assert "jurist run asks it at once" in batched.err
    drawn = cli("run", "fect@1", "--input", "rows.jsonl", "--output", "o.jsonl", "--samples", "5")
    assert drawn.code == 2
    assert "draws once, and not 5 times; leave out --samples" in drawn.err


def test_a_panel_version_is_a_judge_of_a_cascade(servers: dict[str, Loopback]) -> None:
    compiled()
    new_rows()
    ok("cascade", "fect@1", "fect:basic", "--gold", "gold.jsonl", "--agree", "0.3", "--risk", "0.5", "--yes")
    ok("run", "fect@2", "--input", "rows.jsonl", "--output", "o.jsonl")
    lines = read_jsonl(Path("o.jsonl"))
    assert any(line["by"] == "fect@1" for line in lines)


def test_a_basic_prompt_and_one_model_of_a_panel_can_be_asked_by_hand(servers: dict[str, Loopback]) -> None:
    compiled()
    new_rows()
    ok("run", "fect:basic", "--input", "rows.jsonl", "--output", "basic.jsonl", *PANEL)
    assert read_jsonl(Path("basic.jsonl"))[0]["sampling"]["samples"] == 3
    a = ("--model", "openai/a", "--api-base", servers["openai/a"].url)
    one = ok("run", "fect@1", "--input", "rows.jsonl", "--output", "one.jsonl", *a)
    assert "was proven with panel of openai/a + openai/b + openai/c, not with openai/a" in one.people
    assert read_jsonl(Path("one.jsonl"))[0]["sampling"]["samples"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--model", "openai/a"), "leave out --model"),
        (("--samples", "3"), "leave out --samples"),
        (("--panel", "openai/a"), "name each model once"),
    ],
)
def test_options_that_fit_no_panel(
    servers: dict[str, Loopback], options: tuple[str, ...], message: str
) -> None:
    refused = cli("compile", "fect", "--gold", "gold.jsonl", *PANEL, *options)
    assert refused.code == 2
    assert message in refused.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[panel]\n"openai/a" = 3', "panel.openai/a is no table"),
        ('[panel."openai/a"]\ntemperature = 0\nconcurrency = 3', "a model of a panel has no 'concurrency'"),
    ],
)
def test_a_file_of_settings_says_what_is_wrong(text: str, message: str, fake_key: str) -> None:
    Path("jurist.toml").write_text(text, encoding="utf-8")
    refused = cli("compile", "fect", "--gold", "fect-mini", "--panel", "openai/a")
    assert refused.code == 2
    assert message in refused.err


def test_python_compiles_for_a_panel(servers: dict[str, Loopback]) -> None:
    members = [Model(name=name, api_base=server.url) for name, server in servers.items()]
    options = {"sizes": "2", "sets": 2, "block": 4, "sample": 6, "steps": 2}
    found = jurist.compile(
        "fect",
        "gold.jsonl",
        model=Model.panel(members),
        optimizer="fewshot",
        options=options,
        words=False,
        anyway=True,
    )
    verdict = found.judge(conversation="Agent: hello", claim="The agent promises a tea.")
    assert verdict.answered == 3
    loaded = load_judge("fect@1", store=Store("compiled"))
    assert loaded.model.name == Model.panel(members).name


def verdict_of_members(**members: tuple[str | None, ...] | None) -> Verdict:
    return Verdict(id="1", status="verdict", values=("factual",), members=members)


def test_agreement_is_over_pairs_that_both_answered() -> None:
    yes, no = ("factual",), ("non_factual",)
    verdicts = [verdict_of_members(a=yes, b=yes, c=no), verdict_of_members(a=yes, b=None, c=yes)]
    described = describe_panel(FECT.answer.scale, verdicts)
    assert described is not None
    assert described.answered == {"a": 2, "b": 1, "c": 2}
    assert described.agreement == pytest.approx((1 + 0 + 0 + 1) / 4)
    cases = [FECT.case({"conversation": "x", "claim": str(number)}) for number in range(2)]
    assert [row.predicted for row in member_rows("b", cases, verdicts)] == [yes, (None,)]
    assert describe_panel(FECT.answer.scale, [Verdict(id="1", status="verdict", values=yes)]) is None
