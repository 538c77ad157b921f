"""A version belongs to the model that it was proven with: what names stand for with each model, in every command."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from judges import changed
from loopback import Loopback
from small import claims, cli, ok, write_jsonl

import jurist
from jurist.engines.model_names import same_model
from jurist.engines.models import Model
from jurist.errors import UsageError
from jurist.keeping.artifacts import Store
from jurist.keeping.loaders import load_judge
from jurist.programs.fect import FECT

MINI = "openai/gpt-4.1-mini"


def kept(words: str, model: str, *, latest: bool = True, **card: Any) -> None:
    about = {"model": {"name": model}, **card}
    Store("compiled").save(FECT, changed(FECT, words), about, [], make_latest=latest)


@pytest.fixture
def store() -> Store:
    """A store with fect@1 and fect@3 proven offline, fect@2 with a model, fect@4 with another, and not better."""
    kept("First.", "offline")
    kept("Second.", MINI, adapter="json")
    kept("Third.", "offline")
    kept("Fourth.", "openai/other", latest=False)
    return Store("compiled")


@pytest.mark.parametrize(
    ("reference", "model", "name", "words"),
    [
        ("fect", "offline", "fect@3", ""),
        ("fect", MINI, "fect@2", ""),
        ("fect", "azure/GPT-4.1-mini", "fect@2", ""),
        ("fect", "openai/other", "fect:basic", "fect@3 was proven with offline, not with openai/other"),
        ("fect@4", "openai/other", "fect@4", ""),
        ("fect@4", "offline", "fect@4", "fect@4 was proven with openai/other, not with offline"),
        ("fect@latest", MINI, "fect@2", ""),
        ("fect@latest", "openai/other", "fect@3", "fect@3 was proven with offline, not with openai/other"),
        ("fect@1", "offline", "fect@1", ""),
        ("fect:basic", MINI, "fect:basic", ""),
        ("tier", MINI, "tier:basic", f"jurist compile tier --model {MINI} proves a version"),
    ],
)
def test_what_a_name_stands_for(store: Store, reference: str, model: str, name: str, words: str) -> None:
    asked = Model(model)
    direct = load_judge(reference, store=store, model=asked)
    moved = load_judge(reference, store=store, model=Model("openai/third")).with_model(asked)
    (several,) = load_judge(reference, store=store).on([asked])
    for loaded in (direct, moved, several):
        assert loaded.name == name
        assert loaded.adapter == ("json" if name == "fect@2" else "chat")
        assert words in loaded.note
        assert bool(loaded.note) == bool(words)
    if direct.judge is FECT:
        assert pickle.loads(pickle.dumps(direct)).with_model(Model("offline")).name == name  # noqa: S301


def test_names_that_move_move_for_their_model_alone(store: Store) -> None:
    def name(model: str) -> str:
        return load_judge("fect", store=store, model=Model(model)).name

    ok("artifacts", "tag", "fect@1", "latest")
    assert (name("offline"), name(MINI)) == ("fect@1", "fect@2")
    ok("artifacts", "tag", "fect@3", "latest")
    assert (name("offline"), name(MINI)) == ("fect@3", "fect@2")
    ok("artifacts", "tag", "fect@4", "latest")
    assert (name("offline"), name("openai/other")) == ("fect@3", "fect@4")


def test_the_latest_of_each_model_is_listed_and_told(store: Store) -> None:
    tagged = ok("artifacts", "tag", "fect@4", "latest", "--json").json
    assert tagged["means"] == {"openai/other": "fect@4", "offline": "fect@3", MINI: "fect@2"}
    assert [one.version for one in store.list() if one.latest] == [2, 3, 4]
    told = ok("artifacts", "tag", "fect@1", "latest").out
    assert "fect@1 (not proven) is now the latest: fect means it with offline" in told
    assert f"with {MINI}, fect still means fect@2 (not proven)" in told
    assert "fect@3" not in told
    assert [one.version for one in store.list() if one.latest] == [1, 2, 4]


@pytest.mark.parametrize(
    ("copied", "meant", "told"),
    [
        (["fect@2"], {MINI: "fect@2", "offline": "fect:basic"}, f"with {MINI}, fect means fect@2 there"),
        (
            ["fect@1"],
            {"offline": "fect:basic"},
            "with offline, fect means its basic prompt there; to change that: ",
        ),
        (["fect@3", "fect@2"], {MINI: "fect@2", "offline": "fect@3"}, "fect means fect@2 there"),
        (["fect@4"], {"openai/other": "fect:basic"}, "fect means its basic prompt there; to change that: "),
        # fect@5 stands on fect@3, which fect means
        (["fect@5"], {"offline": "fect@3"}, "jurist artifacts tag fect@5 latest --store other"),
    ],
)
def test_a_name_means_the_same_in_the_store_of_a_copy(
    store: Store, copied: list[str], meant: dict[str, str], told: str
) -> None:
    kept("Fifth.", "offline", latest=False, parent=3)
    for ref in copied:
        done = ok("artifacts", "copy", ref, "--to", "other")
    assert told in done.out
    other = Store("other")
    for model, name in meant.items():
        assert load_judge("fect", store=other, model=Model(model)).name == name
    # what the other store uses stays
    ok("artifacts", "tag", "fect@1", "latest")
    ok("artifacts", "copy", "fect@1", "--to", "other")
    offline = meant.get("offline", "fect:basic")
    if offline == "fect:basic":
        offline = "fect@1"
    assert load_judge("fect", store=other, model=Model("offline")).name == offline


def test_a_better_version_that_is_not_the_latest_is_named(store: Store) -> None:
    kept("Fifth.", "openai/fifth", latest=False, decision={"verdict": "better"})
    note = load_judge("fect", store=store, model=Model("azure/fifth")).note
    assert "fect@5 was shown to be better, and was not made the latest: the basic prompt is used" in note
    assert "jurist artifacts tag fect@5 latest makes it so" in note


def test_another_prompt_format_is_refused_only_where_the_name_is_a_version(store: Store) -> None:
    with pytest.raises(UsageError, match="fect@2 was proven with json prompts"):
        jurist.load("fect", model=MINI, adapter="chat")
    with pytest.warns(UserWarning, match="the basic prompt is used"):
        assert jurist.load("fect", model="openai/new", adapter="json").adapter == "json"


def test_providers_do_not_count() -> None:
    for provider in ("openai", "azure", "openrouter/org"):
        for name in ("a", "offline"):
            assert same_model(f"{provider}/{name}", "openai/a") == (name == "a")
            assert not same_model("offline", f"{provider}/{name}")


def said(done: Any) -> bool:
    return f"fect@1 was proven with offline, not with {MINI}" in done.err


@pytest.mark.parametrize("reference", ["fect", "fect@1"])
def test_what_reaches_a_real_model(reference: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    kept("Compiled offline. " + "Mind the long demonstrations. " * 200, "offline")
    write_jsonl(Path("gold.jsonl"), claims(8))
    shared = ("--model", MINI, "--max-calls", "1000")
    rows, gold = ("--input", "gold.jsonl", "--output", "out.jsonl"), ("--gold", "gold.jsonl")
    commands = (
        ("run", reference, *rows, *shared),
        ("compare", reference, "fect:basic", *gold, *shared, "--fresh"),
    )
    for command in commands:
        with Loopback() as server:
            done = cli(*command, "--api-base", server.url)
            assert done.code == 0, (command, done.err)
            assert said(done), (command, done.err)
            long = ["long demonstrations" in hit.raw.decode() for hit in server.hits]
        assert long, command
        assert any(long) == (reference == "fect@1"), command
    lines = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert {line["judge"] for line in lines} == {reference if "@" in reference else "fect:basic"}
    with (
        Loopback() as server,
        pytest.warns(UserWarning, match=f"fect@1 was proven with offline, not with {MINI}"),
    ):
        jurist.evaluate(reference, claims(2), model=Model(MINI, api_base=server.url))


@pytest.mark.parametrize("target", ["messages", "python"])
def test_an_export_says_which_model_it_was_proven_with(store: Store, target: str) -> None:
    name, model = ("fect@5", "openai/fifth") if target == "python" else ("fect@3", "offline")
    if target == "python":
        kept("Fifth.", model)
    done = ok("export", "fect", "--to", target)
    assert f"{name} was proven with {model}: its scores do not hold for other models" in done.err
    assert model in done.out
