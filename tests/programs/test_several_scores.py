"""Several scores of a row become one: by which rule, who may choose it, and what keeps the rule of its proof."""

import json
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest
from loopback import Loopback
from parity import executed

from jurist.engines.models import Model
from jurist.errors import UsageError
from jurist.exports import EXPORTERS
from jurist.jobs.exporting import subject_of
from jurist.keeping.artifacts import Store
from jurist.keeping.loaders import load_judge
from jurist.keeping.loading import find_changed_conditions
from jurist.programs.catalogue import find
from jurist.programs.fect import FECT
from jurist.programs.judge import Judge
from jurist.programs.state import PromptState

SCORE = find(f"{Path(__file__).parents[2]}/docs/reply_score.py:judge")
ROW = {"facts": "a", "question": "b", "reply": "c"}


def version(thresholds: dict[str, object], judge: Judge = SCORE) -> str:
    card = {"adapter": "chat", "thresholds": thresholds}
    return Store("compiled").save(judge, PromptState.of(judge.basic()), card, [], make_latest=True).ref


def says(*scores: int) -> Loopback:
    drawn: Iterator[int] = iter(scores)
    return Loopback(lambda request: f"[[ ## score ## ]]\n{next(drawn)}\n\n[[ ## completed ## ]]")


@pytest.mark.parametrize(
    ("thresholds", "chosen", "rule", "score"),
    [
        ({"samples": 3}, {}, None, 2),  # of an older version: the median
        ({"samples": 3, "combine": "mean"}, {}, "mean", 3),
        ({"samples": 3, "combine": "mean"}, {"combine": "median"}, "median", 2),
        ({"samples": 3}, {"combine": "mean"}, "mean", 3),
        ({"samples": 1}, {"samples": 3}, "mean", 3),  # more samples than in its proof
        ({"samples": 5}, {"samples": 3}, None, 2),
        (None, {"samples": 3}, "mean", 3),  # the basic prompt
        (None, {"samples": 3, "combine": "median"}, "median", 2),
    ],
)
def test_a_version_keeps_its_rule(
    thresholds: dict[str, object] | None, chosen: dict[str, object], rule: str | None, score: int
) -> None:
    reference = "reply-score:basic" if thresholds is None else version(thresholds)
    with says(2, 2, 5) as server:
        model = Model(name="openai/some", api_base=server.url)
        named = SCORE if thresholds is None else reference
        judge = load_judge(
            named,
            store=Store("compiled"),
            version="basic" if thresholds is None else "",
            model=model,
            **chosen,
        )
        assert judge.sampling.combine == rule
        verdict = judge(**ROW)
    assert verdict.values == (score,)
    assert verdict.drawn == (3 if rule == "mean" else 2)  # two of three settle a median, and no mean
    assert judge.stamp()["sampling"].get("combine") == ("mean" if rule == "mean" else None)


def test_a_rule_of_scores_is_refused_by_labels() -> None:
    with pytest.raises(UsageError, match="no scores that have a mean; leave out combine="):
        load_judge(FECT, store=Store("compiled"), version="basic", samples=3, combine="mean")


def test_another_rule_than_that_of_the_proof_is_said() -> None:
    store = Store("compiled")
    judge = load_judge(version({"samples": 3, "combine": "mean"}), store=store, combine="median")
    assert find_changed_conditions(judge, judge.stamp())["combine"] == "combine None and not mean"


@pytest.mark.parametrize(("combine", "score"), [(None, 2), ("mean", 3)])
def test_an_export_combines_scores_as_its_version_does(combine: str | None, score: int) -> None:
    thresholds = {"samples": 3} | ({"combine": combine} if combine else {})
    artifact = Store("compiled").load(version(thresholds))
    subject = subject_of(artifact, SCORE)
    file = executed(EXPORTERS["python"].render(subject))
    with says(2, 2, 5) as server:
        client = openai.OpenAI(base_url=server.url, api_key="none", max_retries=0)
        assert file["judge"](client, "some", **ROW)["value"] == score
    voting = json.loads(EXPORTERS["messages"].render(subject))["voting"]
    assert ("mean" in voting) == (combine == "mean")
