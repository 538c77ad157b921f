"""Remembered rows: a model that takes over the label of the demonstration most like the row shows what they are for."""

import asyncio
import pickle
import runpy
import shlex
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import dspy
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import Loopback, field_of
from openai import OpenAI
from small import cli, ok, read_jsonl, write_jsonl
from tickets import TOPICS, chat, most_like, rows, settled_in, topics

import jurist
from jurist.engines.channel import CallContext
from jurist.engines.models import connect
from jurist.errors import ModelError
from jurist.evaluation.trust import AgreementRegression
from jurist.keeping.loaders import CascadeAsker, Member
from jurist.optimizers.demonstrations import add_remembered_rows
from jurist.programs.asking import Asker
from jurist.programs.state import PromptState
from jurist.runs.serving import Serving, application
from jurist.text.ranking import Ranking, folded

COMPILE_NEAREST = (
    "compile",
    "route.py:judge",
    "--gold",
    "gold.jsonl",
    "--optimizer",
    "nearest",
    "--no-words",
)
"""The compilation of nearest rows, in which no regression on words may decide."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settled_in(tmp_path, monkeypatch)
    new, known = ([{"ticket": row["ticket"]} for row in rows(seed)[::8]] for seed in (1, 0))
    write_jsonl(Path("new.jsonl"), [*new, *known[:10]])
    return tmp_path


@pytest.mark.parametrize("optimizer", ["nearest", "race"])
def test_nearest_rows_are_chosen_and_proven_and_shown_alike_everywhere(project: Path, optimizer: str) -> None:
    with Loopback(most_like) as server:
        command = (
            "compile",
            "route.py:judge",
            "--gold",
            "gold.jsonl",
            "--optimizer",
            optimizer,
            "--no-words",
        )
        done = ok(*command, *chat(server.url), "--json", "--max-calls", "700")
        assert done.json["decision"]["verdict"] == "better"
        history = (jurist.Store().load("route").path / "history.jsonl").read_text()
        assert "nearest" in history
        if optimizer == "race":  # what follows is the same, whoever found it
            return
        assert TOPICS[0] not in history  # which has the ids of what is remembered
        ok("run", "route", "--input", "new.jsonl", "--output", "out.jsonl", *chat(server.url))
        ran = [row["label"] for row in read_jsonl(Path("out.jsonl"))]
        new, sent = read_jsonl(Path("new.jsonl")), len(server.hits)
        loaded = jurist.load("route", model=jurist.Model("openai/m", api_base=server.url))
        assert [loaded(**row).values[0] for row in new] == ran
        own = [hit.body["messages"] for hit in server.hits[sent:]]
        assert {len(messages) for messages in own} <= {2 + 2 * shown for shown in (4, 8, 16)}
        for row, messages in zip(new, own, strict=True):
            assert sum(row["ticket"] in str(one["content"]) for one in messages) == 1  # a known row, too
        assert [served(loaded, row) for row in new[-20:]] == ran[-20:]
        ok("export", "route", "--to", "python", "--output", "python_route.py")
        exported = runpy.run_path("python_route.py")
        assert [exported["messages"](**row) for row in new] == own
        told = [exported["judge"](OpenAI(base_url=server.url), "m", **row)["value"] for row in new[-20:]]
        assert told == ran[-20:]
        done = cli("export", "route", "--to", "messages")
        assert (done.code, "labelled rows most like it, which this target" in done.err) == (2, True), done.err


def served(loaded: Any, row: Any) -> Any:
    async def asked() -> Any:
        transport = httpx.ASGITransport(app=application(Serving(loaded=loaded)))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return (await client.post("/judge", json=row)).json()["label"]

    return asyncio.run(asked())


def test_vectors_find_what_no_word_tells_and_are_counted(project: Path) -> None:
    write_jsonl(Path("gold.jsonl"), rows(inflected=True))
    new = [{"ticket": row["ticket"]} for row in rows(1, inflected=True)[::4]]
    write_jsonl(Path("new.jsonl"), new)
    first = iter(["", "503"])  # which is asked again
    faults = lambda number, body: next(first, None) if "input" in body else None  # noqa: E731
    with Loopback(most_like, vector=topics, faults=faults) as server:
        command = (
            "compile",
            "route.py:judge",
            "--gold",
            "gold.jsonl",
            "--optimizer",
            "nearest",
            "--json",
            "--no-words",
        )
        done = ok(*command, *chat(server.url), "--max-calls", "700", "--embedder", "openai/stems")
        assert done.json["decision"]["verdict"] == "better"
        assert done.json["spend"]["calls"] == server.count
        asked = [hit.body["input"] for hit in server.hits if "input" in hit.body and not hit.fault]
        assert max(Counter(chain(*asked)).values()) == 1  # each text is embedded once
        assert (
            "of openai/stems, at most"
            in ok("evaluate", "route", "--gold", "gold.jsonl", *chat(server.url)).err
        )
        assert "by words and vectors of openai/stems" in ok("artifacts", "show", "route").out
        before = server.count
        ran = ok("run", "route", "--input", "new.jsonl", "--output", "out.jsonl", *chat(server.url))
        # One call embeds all remembered rows.
        assert "42 to 81 calls (2 to 41 of openai/stems, at most 40 more for replies" in ran.err
        assert sum("input" in hit.body for hit in server.hits[before:]) < len(new) / 2
        said = [row["label"] for row in read_jsonl(Path("out.jsonl"))]
        loaded = jurist.load("route", model=jurist.Model("openai/m", api_base=server.url))
        assert [loaded(**row).values[0] for row in new] == said
        assert [served(loaded, row) for row in new[:3]] == said[:3]
        ok("export", "route", "--to", "python", "--output", "python_route.py")
        exported = runpy.run_path("python_route.py")
        client = OpenAI(base_url=server.url)
        assert [exported["judge"](client, "m", **row)["value"] for row in new] == said
        shown = {str(hit.body["messages"]) for hit in server.hits[before:] if "messages" in hit.body}
        assert len(shown) == len(new)  # whoever asks shows the same rows
        with pytest.raises(ValueError, match="ask through a client"):
            runpy.run_path("python_route.py")["messages"](**new[0])
    done = cli("run", "route@1", "--input", "new.jsonl", "--output", "none.jsonl", "--model", "offline")
    assert (done.code, "name a --model" in done.err) == (2, True), done.err
    done = cli(*command, "--embedder", "openai/stems")
    assert (done.code, "would embed nothing" in done.err) == (2, True), done.err
    with Loopback(most_like, faults={0: "404"}) as server:
        done = cli(*command, *chat(server.url), "--max-calls", "700", "--embedder", "openai/none")
        assert (done.code, server.count, "`none` does not exist" in done.err) == (1, 1, True), done.err


def asker_at(url: str, context: CallContext) -> Asker:
    judge = runpy.run_path("route.py")["judge"]
    cases = [judge.case(row, path="gold", line=1) for row in rows()]
    state = add_remembered_rows(judge, cases, PromptState.of(judge.basic()), 4, 500, "openai/stems")
    lm = connect(jurist.Model("openai/m", api_base=url), context)
    return Asker(judge=judge, program=state.apply(judge.basic()), lm=lm)


def test_judges_of_a_cascade_embed_their_rows_once_each_at_its_own_address(project: Path) -> None:
    context, unsure = CallContext.fresh(), AgreementRegression(intercept=-9.0, slope=0.0, labels={})
    with Loopback(most_like, vector=topics, delay=0.02) as near, Loopback(most_like, vector=topics) as far:
        askers = [asker_at(server.url, context) for server in (near, far)]
        members = [Member(name="route", asker=asker, trust=unsure) for asker in askers]
        cascade = CascadeAsker(**vars(askers[1]), members=members, level=0.5)
        cascade.ask_all([askers[0].judge.case(row, path="new", line=1) for row in rows(1)[:8]])
        for server in (near, far):
            asked = chain(*(hit.body["input"] for hit in server.hits if "input" in hit.body))
            assert set(Counter(asked).values()) == {1}
        kept = askers[0].program.remembered
        assert pickle.loads(pickle.dumps(kept)) == kept  # noqa: S301 - our own


def test_vectors_of_several_lengths_are_refused_and_without_a_model_dspy_says_so(project: Path) -> None:
    with Loopback(most_like, vector=lambda text: [1.0] * (2 + text.startswith("new"))) as server:
        asker = asker_at(server.url, CallContext.fresh())
        with pytest.raises(ModelError, match="gives vectors of several lengths"):
            asker.ask(asker.judge.case({"ticket": "new"}, path="new", line=1))
    with dspy.context(lm=None), pytest.raises(ValueError, match="No LM is loaded"):
        asker.program(ticket="new")


def test_while_compiling_no_row_of_the_group_is_shown(project: Path) -> None:
    talks = [{**row, "group": row["group"].partition("-")[0]} for row in rows()]  # a topic is a group
    write_jsonl(Path("gold.jsonl"), talks)
    with Loopback(most_like) as server:
        ok(*COMPILE_NEAREST, *chat(server.url), "--max-calls", "700")
        many = [hit.body["messages"] for hit in server.hits if len(hit.body["messages"]) > 2]
    assert many
    for *shown, asked in many:
        topic = field_of(str(asked["content"]), "ticket").split()[0]
        assert not any(topic in str(one["content"]) for one in shown)


@pytest.mark.parametrize("optimizer", ["opro --set steps=20 --set patience=20", "gepa"])
def test_a_proposer_that_cannot_be_read_is_given_up_and_named(project: Path, optimizer: str) -> None:
    asked = []

    def mute(messages: list[dict[str, Any]]) -> str:
        if "`desk`" in str(messages[0]["content"]):
            return most_like(messages)
        asked.append(messages)
        return "I would rather not."

    with Loopback(mute) as server:
        command = shlex.split(
            f"compile route.py:judge --gold gold.jsonl --optimizer {optimizer} --max-calls 900"
        )
        done = ok(*command, *chat(server.url))
    assert 10 <= len(asked) <= 12
    assert "name a larger model with --prompt-model" in done.err
    assert f"{len(asked)} proposals could not be read" in done.out


def test_rows_that_come_later_are_remembered_and_the_test_stays_sealed(project: Path) -> None:
    later = [{"ticket": f"quxor {letter * 6} {letter * 5} quxor", "desk": "blue"} for letter in "klmnop"]
    with Loopback(most_like) as server:
        ok(*COMPILE_NEAREST, *chat(server.url), "--max-calls", "700")
        first = jurist.Store().load("route@1")
        gold = {jurist.Case(inputs={"ticket": row["ticket"]}).id: row for row in rows()}
        tested, (known, *_) = [gold[row["case"]] for row in first.proof()], first.card["gold"]["seen"]
        other = {"red": "blue", "blue": "red"}
        turned = {id_: {**row, "desk": other[row["desk"]]} for id_, row in gold.items()}
        write_jsonl(Path("later.jsonl"), [*later, turned[known], *tested[:2]])
        asked = shlex.split("artifacts remember route@1 later.jsonl --force --json")
        done = ok(*asked, "--api-base", server.url)
        assert (done.json["remembered"], done.json["left_out"], done.json["parent"]) == (7, 2, 1)
        assert done.json["test_openings"] == 2
        assert "the new version against route@1: not shown to differ" in done.json["against"]["words"]
        write_jsonl(Path("turned.jsonl"), [turned[id_] for id_ in first.card["gold"]["seen"]])
        wrong = cli(*asked[:3], "turned.jsonl", "--json", "--api-base", server.url)
        assert (wrong.json["latest"], wrong.json["against"]["verdict"]) == (False, "worse")
        assert not any(row["ticket"] in str(done.json) for row in tested)
        write_jsonl(Path("tested.jsonl"), tested)
        again = cli(*asked[:3], "tested.jsonl", *asked[4:])
        model = jurist.Model("openai/m", api_base=server.url)
        new = {"ticket": "quxor zzzzzz quxor"}
        said = [jurist.load(f"route@{version}", model=model)(**new).values for version in (1, 2)]
    assert said == [("red",), ("blue",)]
    kept = jurist.Store().load("route@2").state.predictors["self"].remembered
    assert kept is not None
    assert kept.rows[known]["desk"] == turned[known]["desk"]
    differ = ok("artifacts", "diff", "route:basic", "route@2").out
    assert f"shown with each row: all -> the {kept.shown} most like it of {len(kept.rows)}" in differ
    assert (again.code, "no labelled row that is not in the sealed test" in again.err) == (1, True), again.err
    added = next(iter(set(kept.rows) - set(first.card["gold"]["seen"])))
    withdrawn = ok("artifacts", "forget", "route@2", added)
    assert "without 1 row" in withdrawn.out


# -- laws --------------------------------------------------------------------------------------------------

texts = st.text("abc xyz", max_size=60)


@given(st.lists(texts, min_size=1, max_size=12), texts, st.integers(0, 8), st.integers(0, 40), st.data())
def test_ranked_rows_are_few_fit_and_are_no_copies(
    kept: list[str], row: str, shown: int, room: int, data: st.DataObject
) -> None:
    sizes = [len(text) for text in kept]
    apart = data.draw(st.sets(st.integers(0, len(kept) - 1)))
    rows_ = [{"text": text, "policy": "the same everywhere"} for text in kept]
    ranking = Ranking(rows_, ["text"], sizes)
    asked = {"text": row, "policy": "the same everywhere"}
    places = ranking.nearest(asked, shown, room, apart)
    assert len(set(places)) == len(places) <= shown
    assert sum(sizes[place] for place in places) <= room
    assert not apart & set(places)
    assert all(folded(kept[place]) != folded(row) for place in places)
    assert ranking.nearest(asked, shown, room, apart) == places


@given(st.permutations(range(6)))
def test_the_row_with_the_rare_word_stands_last_wherever_it_is_kept(order: list[int]) -> None:
    kept = ["the bank by the river", "the bank of spain", "the loan", "a loan", "zebra bank", "the the"]
    ranking = Ranking([{"text": kept[place]} for place in order], ["text"], [1.0] * 6)
    best = ranking.nearest({"text": "the zebra of the bank"}, 3, 9.0)[-1]
    assert kept[order[best]] == "zebra bank"


def test_a_near_copy_needs_all_inputs_to_be_near() -> None:
    text = "the parcel was sent on monday and came back on friday"
    kept = [{"text": f"{text}.", "about": "one thing"}, {"text": text, "about": "another"}]
    ranking = Ranking(kept, ["text"], [1.0, 1.0])
    assert ranking.nearest({"text": text.upper(), "about": "one thing!"}, 2, 9.0) == [1]
