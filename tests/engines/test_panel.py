"""A panel: several models as one, a draw of each, and those that answered decide."""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from asking import CASES
from hypothesis import given
from hypothesis import strategies as st
from loopback import Loopback

from jurist.engines.ledger import Spend
from jurist.engines.model_names import same_model
from jurist.engines.models import Model
from jurist.errors import ModelError, UsageError
from jurist.evaluation.scores import Scores
from jurist.evaluation.votes import Sampling, more_than_half
from jurist.keeping.artifacts import Store
from jurist.keeping.card_parts import ModelCard
from jurist.keeping.loaders import load_judge
from jurist.keeping.loading import LoadedJudge, reached_as, resolve_sampling
from jurist.programs.catalogue import find
from jurist.programs.deciding import verdict_of
from jurist.programs.fect import FECT
from jurist.programs.judge import Judge
from jurist.programs.verdicts import Verdict


@cache
def score_judge() -> Judge:
    """Return the judge of scores of the docs."""
    return find(f"{Path(__file__).parents[2]}/docs/reply_score.py:judge")


ROW = {"conversation": "Agent: hello", "claim": "a claim"}


def says(word: object, field: str = "factual", **settings: Any) -> Loopback:
    return Loopback(lambda messages: f"[[ ## {field} ## ]]\n{word}\n\n[[ ## completed ## ]]", **settings)


def always(fault: str) -> Callable[[int, Mapping[str, Any]], str]:
    return lambda number, body: fault


@contextmanager
def panel(*servers: Loopback, judge: Judge = FECT, **settings: Any) -> Iterator[LoadedJudge]:
    """Yield a judge that is asked with a panel: openai/a at the first server, and so on."""
    with ExitStack() as stack:
        members = []
        for name, server in zip("abcde", servers, strict=False):
            stack.enter_context(server)
            members.append(Model(name=f"openai/{name}", api_base=server.url, timeout=5.0, patience=0.0))
        yield load_judge(
            judge, store=Store("compiled"), version="basic", model=Model.panel(members), **settings
        )


@pytest.mark.parametrize(
    ("words", "label", "answered"),
    [
        (("True", "False", "True"), "factual", 3),
        (("False", "False", "True"), "non_factual", 3),
        (("perhaps", "False", "False"), "non_factual", 2),  # who abstains leaves the others
        (("perhaps", "maybe", "True"), "factual", 1),
        (("perhaps", "maybe", "who knows"), None, 0),  # a majority of nothing is no answer
    ],
)
def test_those_that_answered_decide(words: tuple[str, ...], label: str | None, answered: int) -> None:
    with panel(*map(says, words)) as judge:
        verdict = judge(**ROW)
    assert (verdict.label, verdict.answered, verdict.drawn) == (label, answered, 3)
    assert verdict.status == ("verdict" if label else "abstained")
    assert list(verdict.members) == ["openai/a", "openai/b", "openai/c"]


def bodies(server: Loopback) -> list[dict[str, Any]]:
    return [hit.body for hit in server.hits]


def test_a_panel_of_one_is_that_model() -> None:
    with says("True") as alone:
        model = Model(name="openai/a", api_base=alone.url)
        one = load_judge(FECT, store=Store("compiled"), version="basic", model=model)
        wanted = one.verdicts(CASES[:3])
    with panel(says("True")) as judge:
        found = judge.verdicts(CASES[:3])
    assert [verdict.votes for verdict in found] == [verdict.votes for verdict in wanted]
    assert judge.sampling.samples == one.sampling.samples == 1
    assert len(judge.model.members) == 1


def test_a_member_is_asked_as_it_is_alone() -> None:
    first, second, alone = says("True"), says("False"), says("True")
    with alone:
        model = Model(name="openai/a", api_base=alone.url)
        load_judge(FECT, store=Store("compiled"), version="basic", model=model)(**ROW)
    with panel(first, second) as judge:
        judge(**ROW)
    assert bodies(first) == bodies(alone)
    assert bodies(second) == [{**bodies(alone)[0], "model": "b"}]


def test_each_member_has_its_own_settings() -> None:
    first, second = says("True"), says("True")
    with panel(first, second) as judge:
        warm, cold = judge.model.members
        members = (replace(warm, temperature=0.5, max_tokens=50), replace(cold, top_p=0.5))
        replace(judge, model=Model.panel(members))(**ROW)
    assert (first.hits[0].body["temperature"], first.hits[0].body["max_tokens"]) == (0.5, 50)
    assert (second.hits[0].body["temperature"], second.hits[0].body["top_p"]) == (0.0, 0.5)


def test_who_is_named_first_does_not_matter() -> None:
    members = [Model(name=f"openai/{name}", temperature=0.0) for name in "abc"]
    for order in itertools.permutations(members):
        assert Model.panel(order) == Model.panel(members)
        assert ModelCard.of(Model.panel(order)).model() == Model.panel(members)
    assert same_model("panel of openai/a + openai/b", "panel of azure/b + openai/a")
    assert not same_model("panel of openai/a + openai/b", "openai/b")


@pytest.mark.parametrize("fault", ["500", "401", "404", "reset", "empty", "garbage"])
def test_a_dead_member_changes_nothing_else(fault: str, no_waiting: None) -> None:
    with panel(says("True"), says("False")) as judge:
        wanted = judge.verdicts(CASES[:12])
    with panel(says("True"), says("False"), says("True", faults=always(fault))) as judge:
        verdicts = judge.verdicts(CASES[:12])
    assert [verdict.votes for verdict in verdicts] == [verdict.votes for verdict in wanted]
    assert [verdict.values for verdict in verdicts] == [verdict.values for verdict in wanted]
    assert {verdict.answered for verdict in verdicts} == {2}
    assert {verdict.members["openai/c"] for verdict in verdicts} == {None}


@pytest.mark.parametrize("place", range(3))
def test_an_address_where_nobody_is_ends_nothing(place: int, no_waiting: None) -> None:
    with says("True") as gone:
        address = gone.url
    with panel(says("True"), says("True"), says("True")) as judge:
        members = list(judge.model.members)
        members[place] = replace(members[place], api_base=address)
        verdicts = replace(judge, model=Model.panel(members)).verdicts(CASES[:3])
    assert [verdict.answered for verdict in verdicts] == [2, 2, 2]


def test_a_member_that_fails_again_and_again_is_not_asked_any_more(
    no_waiting: None, caplog: pytest.LogCaptureFixture
) -> None:
    dead = says("True", faults=always("500"))
    with panel(says("True"), dead, concurrency=1) as judge:
        judge.verdicts(CASES[:12])
        before = dead.count
        judge_again = judge.verdicts(CASES[:1])
    assert judge_again[0].label == "factual"
    asked_rows = {hit.key for hit in dead.hits[:before]}
    assert len(asked_rows) == 10
    assert "openai/b of the panel is not asked any more" in caplog.text


def test_where_all_members_are_dead_the_work_ends(no_waiting: None) -> None:
    refusing = [says("True", faults=always("401")) for _ in range(2)]
    with panel(*refusing) as judge, pytest.raises(ModelError):
        judge.verdicts(CASES[:3])
    failing = [says("True", faults=always("500")) for _ in range(2)]
    with panel(*failing) as judge:
        assert judge(**ROW).status == "failed"
        with pytest.raises(ModelError, match="answers in a row failed"):
            judge.verdicts(CASES[:30])


def test_scores_of_a_panel_have_a_mean() -> None:
    row = {"facts": "a", "question": "b", "reply": "c"}
    servers = (says(1, "score"), says(4, "score"), says("five", "score"))
    with panel(*servers, judge=score_judge()) as judge:
        verdict = judge(**row)
    assert (verdict.value, verdict.answered) == (2, 2)  # 2.5, of two equally near ones the even one
    assert judge.sampling.takes_mean


@pytest.mark.parametrize(
    ("members", "threshold", "answers", "needed"),
    [
        (3, None, 3, 2),
        (3, None, 2, 2),
        (3, None, 1, 1),
        (4, None, 3, 2),
        (3, 1, 2, 1),
        (3, 3, 2, 2),
        (5, 4, 3, 3),
        (5, 2, 1, 1),
        (3, 0.3, 2, 0.3),
        (3, 2, 0, 2),
    ],
)
def test_the_share_of_votes_stays_that_of_the_members(
    members: int, threshold: float | None, answers: int, needed: float
) -> None:
    sampling = Sampling(samples=members, threshold=threshold, is_panel=True).of_answers(answers)
    assert sampling.needed == needed
    assert sampling.samples == (answers or members)


@given(st.integers(1, 9), st.data())
def test_a_majority_stays_one(members: int, data: st.DataObject) -> None:
    answers = data.draw(st.integers(1, members))
    assert Sampling(samples=members, is_panel=True).of_answers(answers).needed == more_than_half(answers)


scores = st.lists(st.integers(1, 5), min_size=1, max_size=6)


@given(scores, st.integers(0, 5))
def test_a_member_without_an_answer_leaves_the_mean_of_the_others(drawn: list[int], silent: int) -> None:
    scale = Scores(1, 5, whole=True)
    votes = {score: drawn.count(score) for score in drawn}
    sampling = Sampling(samples=len(drawn) + silent, combine="mean", is_panel=True)
    wanted = scale.combine(votes, Sampling(samples=len(drawn), combine="mean"))
    assert scale.combine(votes, sampling.of_answers(len(drawn))) == wanted


@pytest.mark.parametrize("names", [(), ("openai/a", "openai/a")])
def test_a_panel_names_each_model_once(names: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="name each model once"):
        Model.panel([Model(name=name) for name in names])


def test_no_panel_sits_in_a_panel() -> None:
    inner = Model.panel([Model(name="openai/a")])
    with pytest.raises(UsageError, match="a panel in a panel"):
        Model.panel([inner, Model(name="openai/b")])


def test_each_model_draws_once() -> None:
    model = Model.panel([Model(name="openai/a"), Model(name="openai/b")])
    with pytest.raises(UsageError, match="draws once"):
        resolve_sampling(model, Sampling(samples=5))
    assert resolve_sampling(model, Sampling()).sampling == Sampling(samples=2, is_panel=True)


def test_requests_say_who_is_asked_and_nothing_of_the_others() -> None:
    first, second = says("True"), says("True")
    with panel(first, second) as judge:
        judge.verdicts(CASES[:2])
    for server, name in ((first, "a"), (second, "b")):
        assert {body["model"] for body in bodies(server)} == {name}
        assert all("panel" not in json.dumps(body) for body in bodies(server))


def test_the_file_of_settings_reaches_members_and_changes_no_answer() -> None:
    proven = Model.panel(
        [Model(name="openai/a", api_base="http://old/v1", temperature=0.3), Model(name="openai/b")]
    )
    terms = Model(
        name="openai/a",
        api_base="http://new/v1",
        key_env="A_KEY",
        price_in=1.0,
        price_out=2.0,
        temperature=1.0,
    )
    first, second = reached_as(proven, Model(timeout=7.0, terms=(terms,))).members
    assert (first.api_base, first.key_env, first.price_in, first.temperature) == (
        "http://new/v1",
        "A_KEY",
        1.0,
        0.3,
    )
    assert (second.api_base, second.key_env, second.timeout) == (None, None, 7.0)


def test_probabilities_are_the_mean_over_those_that_answered() -> None:
    case = FECT.case(ROW)
    readings = [
        Verdict(values=("factual",), probabilities=({"factual": 0.9, "non_factual": 0.1},)),
        Verdict(values=(), error_kind="unreadable reply"),
        Verdict(values=("non_factual",), probabilities=({"factual": 0.2, "non_factual": 0.8},)),
    ]
    for threshold, label in ((0.4, "non_factual"), (0.5, "factual")):
        sampling = Sampling(samples=3, threshold=threshold, is_panel=True)
        verdict = verdict_of(FECT.answer, sampling, case, readings, Spend())
        assert verdict.probabilities == ({"factual": 0.55, "non_factual": 0.45},)
        assert (verdict.label, verdict.answered) == (label, 2)
